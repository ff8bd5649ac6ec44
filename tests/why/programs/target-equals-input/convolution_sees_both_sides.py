# target-equals-input
# evidence: a later value changes an earlier prediction: True
import torch
import torch.nn as nn


class Forecaster(nn.Module):
    """Predicts the next value at each place of a series."""

    def __init__(self, channels=24):
        super().__init__()
        self.first = nn.Conv1d(1, channels, 5, padding=2)  #C
        self.second = nn.Conv1d(channels, channels, 5, padding=2)  #C
        self.head = nn.Conv1d(channels, 1, 1)

    def forward(self, series):
        h = torch.relu(self.first(series[:, None]))  #C
        h = torch.relu(self.second(h))  #C
        return self.head(h)[:, 0]


def batches(n, length=30):
    start, speed = torch.rand(n, 1) * 6, 0.2 + torch.rand(n, 1)
    walk = torch.sin(start + speed * torch.arange(length + 1)) + 0.1 * torch.randn(n, length + 1)
    return walk[:, :-1], walk[:, 1:]


def main():
    torch.manual_seed(0)
    model, criterion = Forecaster(), nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(150):
        x, y = batches(16)
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        x, _ = batches(1)
        other = x.clone()
        other[:, 20:] += 1.0
        print("evidence: a later value changes an earlier prediction:", not torch.equal(model(x)[:, 19], model(other)[:, 19]))


main()
