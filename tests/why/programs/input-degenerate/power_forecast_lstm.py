# input-degenerate, zero-factor | input/series/window/feature, zero/0/constant, normal/mean/std
# evidence: all inputs of the network are zero: True
import math
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_series(n=260):
    t = torch.arange(n).float()
    return 50 + 12 * torch.sin(2 * math.pi * t / 24) + 4 * torch.sin(2 * math.pi * t / 7) + torch.randn(n)


def make_windows(series, width=18):
    """Returns windows of shape (samples, time, 1) and the value that follows each."""
    x = torch.stack([series[i:i + width] for i in range(len(series) - width)]).unsqueeze(-1)
    y = series[width:].unsqueeze(-1)
    return x, y


def standardize(x, eps=1e-6):
    mean = x.mean(dim=-1, keepdim=True)  #C
    std = x.std(dim=-1, keepdim=True, unbiased=False)
    return (x - mean) / (std + eps)  #C


class Forecaster(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1])


def run(model, loader, optimizer, criterion):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(x)
    return total / len(loader.dataset)


def main():
    torch.manual_seed(0)
    series = make_series()
    x, y = make_windows(series)
    x = standardize(x)
    y = (y - y.mean()) / y.std()
    loader = DataLoader(TensorDataset(x, y), batch_size=48, shuffle=True)
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(6):
        loss = run(model, loader, optimizer, nn.MSELoss())
        print(f"epoch {epoch}: mse {loss:.4f}")
    print("all inputs of the network are zero:", bool((x == 0).all()))


if __name__ == "__main__":
    main()
