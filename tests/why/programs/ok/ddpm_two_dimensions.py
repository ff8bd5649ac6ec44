# ok
# evidence: noise prediction improved: True, ema differs from model: True
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class NoisePredictor(nn.Module):
    def __init__(self, steps, hidden=48):
        super().__init__()
        self.time = nn.Embedding(steps, 16)
        self.inp = nn.Linear(2 + 16, hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 2)
        nn.init.zeros_(self.out.weight)         # predicts zero noise at first
        nn.init.zeros_(self.out.bias)

    def forward(self, x, t):
        h = F.silu(self.inp(torch.cat([x, self.time(t)], dim=1)))
        return self.out(F.silu(self.mid(h)))


class Diffusion:
    def __init__(self, steps=20):
        self.steps = steps
        beta = torch.linspace(1e-2, 0.3, steps)
        self.alpha_bar = torch.cumprod(1 - beta, dim=0)

    def add_noise(self, x, t):
        eps = torch.randn_like(x)
        ab = self.alpha_bar[t].unsqueeze(1)
        return ab.sqrt() * x + (1 - ab).sqrt() * eps, eps


def ring(n):
    a = 2 * math.pi * torch.rand(n)
    return torch.stack([a.cos(), a.sin()], dim=1)


def main():
    torch.manual_seed(99)
    diffusion = Diffusion()
    model = NoisePredictor(diffusion.steps)
    ema = copy.deepcopy(model).requires_grad_(False)
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
    losses = []
    for step in range(100):
        x = ring(96)
        t = torch.randint(0, diffusion.steps, (96,))
        noisy, eps = diffusion.add_noise(x, t)
        loss = F.mse_loss(model(noisy, t), eps)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        with torch.no_grad():
            for e, p in zip(ema.parameters(), model.parameters()):
                e.lerp_(p, 0.05)
        losses.append(loss.item())
        if step % 25 == 24:
            print(f"step {step + 1} loss {losses[-1]:.4f}")
    differs = not torch.equal(ema.mid.weight, model.mid.weight.detach())
    print(f"noise prediction improved: {sum(losses[-10:]) < sum(losses[:10])}, ema differs from model: {differs}")


if __name__ == "__main__":
    main()
