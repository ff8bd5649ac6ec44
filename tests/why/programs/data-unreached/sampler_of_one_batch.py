# data-unreached
# evidence: different samples in an epoch: 20 of 500
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Sampler, TensorDataset


class Blocks(Sampler):
    """Shuffles within blocks, so that neighbours stay together."""

    def __init__(self, count, block):
        self.count, self.block = count, block

    def __iter__(self):
        for _ in range(0, self.count, self.block):
            yield from torch.randperm(self.block).tolist()

    def __len__(self):
        return self.count


def main():
    torch.manual_seed(0)
    x = torch.randn(500, 6)
    data = TensorDataset(x, (x[:, 0] > x[:, 1]).long())
    loader = DataLoader(data, batch_size=20, sampler=Blocks(500, 20))
    model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(3):
        for xb, yb in loader:  #C
            loss = F.cross_entropy(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    seen = {tuple(row.tolist()) for batch, _ in loader for row in batch}
    print(f"evidence: different samples in an epoch: {len(seen)} of {len(data)}")


main()
