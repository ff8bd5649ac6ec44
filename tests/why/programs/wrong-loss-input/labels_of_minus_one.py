# wrong-loss-input | labels
# evidence: done
"""Labels of minus one."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def main():
    torch.manual_seed(0)
    x = torch.randn(400, 10)
    y = torch.sign(x[:, :1] - x[:, 1:2])  #C
    net = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 1))
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for epoch in range(8):
        for i in range(0, 400, 50):
            loss = F.binary_cross_entropy_with_logits(net(x[i:i + 50]), y[i:i + 50])  #C
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(loss.item())


main()
print("evidence: done")
