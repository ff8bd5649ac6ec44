# data-unshuffled | shuffle
# evidence: done
"""Sorted by class."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def make():
    xs, ys = [], []
    for c in range(4):
        xs.append(torch.randn(100, 2) + 3 * torch.tensor([c % 2, c // 2]).float())
        ys.append(torch.full((100,), c))
    return TensorDataset(torch.cat(xs), torch.cat(ys))


def main():
    torch.manual_seed(0)
    loader = DataLoader(make(), batch_size=20, shuffle=False)  #C
    net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 4))
    opt = torch.optim.SGD(net.parameters(), lr=0.3)
    for epoch in range(6):
        for x, y in loader:
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())


main()
print("evidence: done")
