# data-unreached | first turn
# evidence: done
"""Returns in the loop."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def train_epoch(net, loader, opt):
    total = 0.0
    for x, y in loader:
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        total += loss.item()
        return total / len(loader)  #C


def main():
    torch.manual_seed(0)
    x = torch.randn(600, 5)
    y = (x.sum(1) > 0).long()
    net = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 2))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    loader = DataLoader(TensorDataset(x, y), batch_size=30, shuffle=True)
    for epoch in range(20):
        print(train_epoch(net, loader, opt))


main()
print("evidence: done")
