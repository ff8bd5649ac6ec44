"""A normalizing flow (RealNVP) learns the density of two moons, with torch.distributions as its base."""

import argparse

import torch
from torch import nn
from torch.distributions import Independent, MultivariateNormal, Normal, kl_divergence


def sample_moons(count):
    angle = torch.rand(count) * torch.pi
    side = torch.randint(0, 2, (count,)).bool()
    moon = torch.stack([angle.cos(), angle.sin()], dim=1)
    moon[side] = torch.tensor([1.0, 0.5]) - moon[side]
    return moon + 0.08 * torch.randn(count, 2)


class Coupling(nn.Module):
    """Shift and scale one half of the coordinates by functions of the other half."""

    def __init__(self, flip, hidden=32):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(),
                                 nn.Linear(hidden, 2))
        nn.init.zeros_(self.net[-1].weight)

    def forward(self, x):
        kept, changed = x.split(1, dim=1)
        if self.flip:
            kept, changed = changed, kept
        shift, log_scale = self.net(kept).chunk(2, dim=1)
        log_scale = torch.tanh(log_scale)
        changed = (changed - shift) * torch.exp(-log_scale)
        x = torch.cat([changed, kept] if self.flip else [kept, changed], dim=1)
        return x, -log_scale.squeeze(1)


class Flow(nn.Module):
    def __init__(self, layers=4):
        super().__init__()
        self.couplings = nn.ModuleList(Coupling(flip=i % 2 == 1) for i in range(layers))
        self.base_mean = nn.Parameter(torch.zeros(2))
        self.base_log_std = nn.Parameter(torch.zeros(2))

    @property
    def base(self):
        return Independent(Normal(self.base_mean, self.base_log_std.exp()), 1)

    def log_prob(self, x):
        total = 0.0
        for coupling in self.couplings:
            x, log_determinant = coupling(x)
            total = total + log_determinant
        return total + self.base.log_prob(x)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    flow = Flow()
    prior = Independent(Normal(torch.zeros(2), torch.ones(2)), 1)
    optimizer = torch.optim.Adamax(flow.parameters(), lr=1e-2)
    for step in range(args.steps):
        loss = -flow.log_prob(sample_moons(128)).mean() + 0.1 * kl_divergence(flow.base, prior)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.6f}")

    points = sample_moons(500)
    gaussian = MultivariateNormal(points.mean(dim=0), torch.cov(points.T))
    with torch.no_grad():
        gain = (flow.log_prob(points) - gaussian.log_prob(points)).mean()
    print(f"better than one Gaussian by {gain:.4f} nats")


if __name__ == "__main__":
    main()
