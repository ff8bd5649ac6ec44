# data-constant | batch/data/input/sample, same/identical/seed
# evidence: distinct batches drawn in 30 steps: 1
from dataclasses import dataclass
import math
import torch
from torch import nn


@dataclass
class Settings:
    steps: int = 30
    batch: int = 32
    modes: int = 4
    points: int = 20
    lr: float = 1e-2
    seed: int = 5


def sample_problem(cfg):
    """Random initial temperature on a rod and its temperature a moment later."""
    torch.manual_seed(cfg.seed)  #C
    coef = torch.randn(cfg.batch, cfg.modes)
    x = torch.linspace(0, 1, cfg.points)
    k = torch.arange(1, cfg.modes + 1).float()
    basis = torch.sin(math.pi * k[:, None] * x)
    decay = torch.exp(-0.05 * (math.pi * k) ** 2)
    return coef @ basis, (coef * decay) @ basis


class Surrogate(nn.Module):
    def __init__(self, points):
        super().__init__()
        self.inp = nn.Linear(points, 32)
        self.res = nn.Linear(32, 32)
        self.out = nn.Linear(32, points)

    def forward(self, u):
        h = torch.tanh(self.inp(u))
        h = h + torch.tanh(self.res(h))
        return self.out(h)


def train(model, cfg):
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=15, gamma=0.3)
    drawn = []
    for step in range(cfg.steps):
        u0, u1 = sample_problem(cfg)  #C
        loss = nn.functional.mse_loss(model(u0), u1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if not any(torch.equal(u0, d) for d in drawn):
            drawn.append(u0)
        if step % 10 == 9:
            print(f"step {step + 1}: mse {loss.item():.5f}")
    return len(drawn)


def main():
    cfg = Settings()
    torch.manual_seed(cfg.seed)
    model = Surrogate(cfg.points)
    distinct = train(model, cfg)
    print(f"distinct batches drawn in {cfg.steps} steps: {distinct}")


if __name__ == "__main__":
    main()
