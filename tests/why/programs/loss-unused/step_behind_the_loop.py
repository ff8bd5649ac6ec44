# loss-unused | only the last
# evidence: done
"""Step behind the loop."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(0)
    x = torch.randn(400, 5)
    y = (x.sum(1) > 0).long()
    model = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 2))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    loader = DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True)
    for epoch in range(12):
        running = 0.0
        for a, b in loader:
            opt.zero_grad()
            loss = F.cross_entropy(model(a), b)
            running += loss.item()
        loss.backward()  #C
        opt.step()
        print(epoch, running / len(loader))


main()
print("evidence: done")
