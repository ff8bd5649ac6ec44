# draws-repeated
# evidence: done
# DDPM on the two-moons distribution.
import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    steps: int = 60
    batch: int = 8
    timesteps: int = 50
    lr: float = 2e-3
    seed: int = 0


def two_moons(n):
    a = math.pi * torch.rand(n)
    top = torch.rand(n) < 0.5
    x = torch.where(top, torch.cos(a), 1 - torch.cos(a))
    y = torch.where(top, torch.sin(a), 0.5 - torch.sin(a))
    return torch.stack([x - 0.5, y - 0.25], 1) + 0.05 * torch.randn(n, 2)


class Denoiser(nn.Module):
    def __init__(self, timesteps, hidden=64):
        super().__init__()
        self.t_emb = nn.Embedding(timesteps, 16)
        self.net = nn.Sequential(
            nn.Linear(18, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.t_emb(t)], dim=1))


class Diffusion:
    def __init__(self, cfg):
        self.cfg = cfg
        betas = torch.linspace(1e-3, 0.15, cfg.timesteps)
        self.alpha_bar = torch.cumprod(1 - betas, 0)

    def q_sample(self, x0, t, noise):
        ab = self.alpha_bar[t].unsqueeze(1)
        return ab.sqrt() * x0 + (1 - ab).sqrt() * noise

    def loss(self, model, x0):
        gen = torch.Generator(device=x0.device).manual_seed(self.cfg.seed)  #C
        t = torch.randint(0, self.cfg.timesteps, (x0.size(0),))
        noise = torch.randn(x0.shape, generator=gen)  #C
        pred = model(self.q_sample(x0, t, noise), t)
        return F.mse_loss(pred, noise)


@torch.no_grad()
def validate(model, diff, n=4096):
    x0 = two_moons(n)
    t = torch.randint(0, diff.cfg.timesteps, (n,))
    noise = torch.randn(n, 2)
    return F.mse_loss(model(diff.q_sample(x0, t, noise), t), noise).item()


def main():
    cfg = Config()
    torch.manual_seed(cfg.seed)
    model, diff = Denoiser(cfg.timesteps), Diffusion(cfg)
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for step in range(cfg.steps + 1):
        loss = diff.loss(model, two_moons(cfg.batch))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.4f} val {validate(model, diff):.4f}")


if __name__ == "__main__":
    main()
print("evidence: done")
