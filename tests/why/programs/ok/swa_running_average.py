# ok
# evidence: snapshots averaged: 5, averaged model improves on start: True
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Averager:
    """Plain running mean of weights over the last epochs."""

    def __init__(self, model):
        self.model = copy.deepcopy(model)
        self.n = 0

    @torch.no_grad()
    def add(self, model):
        self.n += 1
        for avg, p in zip(self.model.parameters(), model.parameters()):
            avg.add_((p - avg) / self.n)


@torch.no_grad()
def refresh_bn(model, loader):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm1d):
            m.reset_running_stats()
            m.momentum = None
    model.train()
    for x, _ in loader:
        model(x)
    model.eval()


@torch.no_grad()
def mse(model, x, y):
    model.eval()
    return nn.functional.mse_loss(model(x), y).item()


def main():
    torch.manual_seed(51)
    x = torch.randn(256, 6)
    y = torch.cat([x[:, :1] * x[:, 1:2], x[:, 2:3].abs()], 1)
    loader = DataLoader(TensorDataset(x[:192], y[:192]), batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(6, 32, bias=False), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))
    start = mse(model, x[192:], y[192:])
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    averager, begin, epochs = None, 5, 10
    for epoch in range(epochs):
        model.train()
        for xb, yb in loader:
            loss = nn.functional.mse_loss(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
        if epoch >= begin:
            if averager is None:
                averager = Averager(model)
            averager.add(model)
        print(f"epoch {epoch} train {loss.item():.4f} val {mse(model, x[192:], y[192:]):.4f}")
    refresh_bn(averager.model, loader)
    end = mse(averager.model, x[192:], y[192:])
    print(f"snapshots averaged: {averager.n}, averaged model improves on start: {end < start}")


if __name__ == "__main__":
    main()
