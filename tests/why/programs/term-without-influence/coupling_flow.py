# term-without-influence
# evidence: done
"""Affine coupling flow fitted to a two-moons density."""
import math

import torch
import torch.nn as nn


def two_moons(n):
    t = torch.rand(n) * math.pi
    top = torch.rand(n) < 0.5
    x = torch.where(top, t.cos(), 1 - t.cos())
    y = torch.where(top, t.sin(), 0.5 - t.sin())
    pts = torch.stack([x - 0.5, y - 0.25], dim=1)
    return (pts + 0.08 * torch.randn(n, 2)) * 1.5


class Coupling(nn.Module):
    def __init__(self, flip, hidden=32):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(
            nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
            nn.Linear(hidden, 2),
        )

    def forward(self, x):
        a, b = x.chunk(2, dim=1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, dim=1)
        s = torch.tanh(s) * 1.5
        b = b * torch.exp(s) + t
        if self.flip:
            a, b = b, a
        return torch.cat([a, b], dim=1), s.squeeze(1)


class Flow(nn.Module):
    def __init__(self, depth=6):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(i % 2 == 1) for i in range(depth))

    def forward(self, x):
        log_det = torch.zeros(x.size(0))  #C
        for layer in self.layers:
            x, log_det = layer(x)  #C
        return x, log_det  #C

    def log_prob(self, x):
        z, log_det = self(x)
        base = -0.5 * z.pow(2).sum(1) - math.log(2 * math.pi)
        return base + log_det  #C


def train(flow, steps=160, batch=128):
    opt = torch.optim.Adam(flow.parameters(), lr=5e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, steps)
    for step in range(steps):
        loss = -flow.log_prob(two_moons(batch)).mean()
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
        opt.step()
        sched.step()
        if step % 40 == 39:
            print(f"step {step:3d} nll {loss.item():.4f}")


@torch.no_grad()
def grid_mass(flow, half=4.0, n=120):
    """Integral of the model density over a square."""
    ax = torch.linspace(-half, half, n)
    pts = torch.cartesian_prod(ax, ax)
    cell = (2 * half / (n - 1)) ** 2
    return flow.log_prob(pts).exp().sum().item() * cell


def main():
    torch.manual_seed(0)
    flow = Flow()
    train(flow)
    with torch.no_grad():
        z, _ = flow(two_moons(512))
    print("latent std", [round(v, 3) for v in z.std(0).tolist()])
    print(f"density mass on the grid {grid_mass(flow):.3f}")


if __name__ == "__main__":
    main()
print("evidence: done")
