# scaler-misuse, diverged | scaler/scaled/scale, step/unscale
# evidence: final loss finite and below the first: False
import argparse

import torch
import torch.nn as nn
from torch.amp import GradScaler
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--amp", action=argparse.BooleanOptionalAction, default=True)
    return p.parse_args([])


class PowerModel(nn.Module):
    """Power consumption from weather and hour."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, x):
        return self.net(x)


def consumption(n=160):
    x = torch.rand(n, 4)
    y = (6.28 * x[:, :1]).sin() + x[:, 1:2]
    return TensorDataset(x, y)


def train(args):
    loader = DataLoader(consumption(), batch_size=20, shuffle=True)
    model = PowerModel()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    scaler = GradScaler("cpu", enabled=args.amp, init_scale=1024.0)
    criterion = nn.MSELoss()
    history = []
    for epoch in range(args.epochs):
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=args.amp):
                pred = model(x)
            loss = criterion(pred.float(), y)
            scaler.scale(loss).backward()  #C
            optimizer.step()  #C
            total += loss.item()
        history.append(total / len(loader))
        print(f"epoch {epoch} mse {history[-1]:.4f}")
    return history


def main():
    torch.manual_seed(1234)
    history = train(get_args())
    ok = torch.isfinite(torch.tensor(history[-1])).item() and history[-1] < history[0]
    print("final loss finite and below the first:", ok)


if __name__ == "__main__":
    main()
