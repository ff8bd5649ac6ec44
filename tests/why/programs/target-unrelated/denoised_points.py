# target-unrelated
# evidence: done
"""Denoising diffusion on a two-dimensional spiral."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def spiral(n):
    t = torch.rand(n).sqrt() * 3 * math.pi
    pts = torch.stack([t * t.cos(), t * t.sin()], 1) / (1.5 * math.pi)
    return pts + 0.03 * torch.randn(n, 2)


class Schedule:
    def __init__(self, steps=50):
        self.steps = steps
        self.beta = torch.linspace(1e-3, 0.15, steps)
        self.alpha_bar = torch.cumprod(1 - self.beta, 0)

    def add_noise(self, x0, t):
        noise = torch.randn_like(x0)  #C
        ab = self.alpha_bar[t][:, None]
        return ab.sqrt() * x0 + (1 - ab).sqrt() * noise  #C


class Denoiser(nn.Module):
    def __init__(self, hidden=64, d_time=16):
        super().__init__()
        freq = torch.exp(torch.linspace(0, math.log(100.0), d_time // 2))
        self.register_buffer("freq", freq)
        self.time = nn.Sequential(nn.Linear(d_time, hidden), nn.SiLU())
        self.inp = nn.Linear(2, hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 2)

    def forward(self, x, t):
        ang = t[:, None].float() / 50.0 * self.freq
        emb = self.time(torch.cat([ang.sin(), ang.cos()], 1))
        h = F.silu(self.inp(x) + emb)
        h = F.silu(self.mid(h) + emb)
        return self.out(h)


def diffusion_loss(model, schedule, x0):
    t = torch.randint(0, schedule.steps, (len(x0),))
    noise = torch.randn_like(x0)  #C
    x_t = schedule.add_noise(x0, t)  #C
    return F.mse_loss(model(x_t, t), noise)  #C


@torch.no_grad()
def sample(model, schedule, n):
    x = torch.randn(n, 2)
    for i in reversed(range(schedule.steps)):
        t = torch.full((n,), i)
        beta, ab = schedule.beta[i], schedule.alpha_bar[i]
        x = (x - beta / (1 - ab).sqrt() * model(x, t)) / (1 - beta).sqrt()
        if i > 0:
            x = x + beta.sqrt() * torch.randn_like(x)
    return x


def main():
    torch.manual_seed(0)
    schedule, model = Schedule(), Denoiser()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    ema = torch.optim.swa_utils.AveragedModel(
        model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.98))
    recent = []
    for step in range(240):
        loss = diffusion_loss(model, schedule, spiral(128))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        ema.update_parameters(model)
        recent.append(loss.item())
        if step % 60 == 59:
            print(f"step {step:3d} loss {sum(recent[-60:]) / 60:.4f}")
    pts = sample(ema, schedule, 256)
    gap = torch.cdist(pts, spiral(1000)).min(1).values.mean()
    print(f"mean distance of samples to the data {gap.item():.4f}")


if __name__ == "__main__":
    main()
print("evidence: done")
