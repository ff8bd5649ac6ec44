# labels-shuffled
# evidence: labels of their own: False
import torch
import torch.nn as nn
import torch.nn.functional as F


class Signals:
    """Gives batches of signals, the loudest first, so that the batches are even."""

    def __init__(self, x, y, batch):
        self.x, self.y, self.batch = x, y, batch

    def __iter__(self):
        order = torch.randperm(len(self.x)).tolist()
        for start in range(0, len(order), self.batch):
            rows = order[start:start + self.batch]
            yield torch.stack(sorted((self.x[i] for i in rows), key=lambda s: float(s.abs().sum()))), self.y[rows]  #C


def main():
    torch.manual_seed(0)
    y = torch.randint(0, 3, (240,))
    x = torch.randn(240, 8) + 2 * torch.eye(8)[y]
    model = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(8):
        for xb, yb in Signals(x, y, 40):
            loss = F.cross_entropy(model(xb), yb)  #C
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    known = {tuple(row.tolist()): int(label) for row, label in zip(x, y)}
    print("evidence: labels of their own:", all(known[tuple(row.tolist())] == int(label) for row, label in zip(xb, yb)))


main()
