# decay-too-strong | weight_decay
# evidence: done
"""Decay of five."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def main():
    torch.manual_seed(0)
    x = torch.randn(600, 12)
    y = (x @ torch.randn(12, 3)).argmax(1)
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 3))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=5.0)  #C
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=50, shuffle=True)
    for epoch in range(8):
        for a, b in loader:
            opt.zero_grad()
            loss = F.cross_entropy(model(a), b)
            loss.backward()
            opt.step()
    print(loss.item())


main()
print("evidence: done")
