# schedule-wrong
# evidence: done
# Energy-demand regression with exponential learning-rate decay.
from dataclasses import dataclass
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR


@dataclass
class TrainConfig:
    base_lr: float = 2e-3
    decay: float = 0.95
    epochs: int = 3
    batch_size: int = 64
    hidden: int = 64


def demand(n):
    hour = torch.rand(n, 1) * 24
    temp = 10 + 8 * torch.randn(n, 1)
    weekend = (torch.rand(n, 1) < 2 / 7).float()
    y = torch.sin(2 * math.pi * hour / 24) + 0.02 * (temp - 15) ** 2 / 5 - 0.6 * weekend
    feats = torch.cat([torch.sin(2 * math.pi * hour / 24), torch.cos(2 * math.pi * hour / 24),
                       (temp - 10) / 8, weekend], dim=1)
    y = y + 0.1 * torch.randn(n, 1)
    return feats, y


def build(cfg):
    model = nn.Sequential(nn.Linear(4, cfg.hidden), nn.ReLU(), nn.Linear(cfg.hidden, cfg.hidden), nn.ReLU(),
                          nn.Linear(cfg.hidden, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.base_lr)
    scheduler = LambdaLR(optimizer, lr_lambda=lambda epoch: cfg.base_lr * cfg.decay ** epoch)  #C
    return model, optimizer, scheduler


def main():
    cfg = TrainConfig()
    torch.manual_seed(0)
    x, y = demand(2000)
    xv, yv = x[1600:], y[1600:]
    x, y = x[:1600], y[:1600]
    model, optimizer, scheduler = build(cfg)
    for epoch in range(cfg.epochs):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(x)).split(cfg.batch_size):
            loss = F.mse_loss(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        scheduler.step()
        model.eval()
        with torch.no_grad():
            val = F.mse_loss(model(xv), yv).item()
        print(f"epoch {epoch} train {total / len(x):.4f} val {val:.4f}")


if __name__ == "__main__":
    main()
print("evidence: done")
