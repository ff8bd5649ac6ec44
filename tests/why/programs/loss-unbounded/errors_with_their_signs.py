# loss-unbounded | signs
# evidence: done
"""Errors with their signs."""
import torch
import torch.nn as nn


def pinball(pred, target, q):
    err = target - pred
    return torch.mean(q * err)  #C


def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for step in range(80):
        x = torch.randn(64, 4)
        y = x.sum(1, keepdim=True) + torch.randn(64, 1)
        loss = pinball(net(x), y, 0.9)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())


main()
print("evidence: done")
