# ok
# evidence: sampler leaves the weights alone: True, data energy below noise energy: True
import torch
from torch import nn


class Energy(nn.Module):
    def __init__(self, d=2, h=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, 1))

    def forward(self, x):
        return self.net(x).squeeze(1) + 0.05 * x.pow(2).sum(1)


def langevin(energy, x, steps=8, size=0.1, noise=0.05):
    """The samples are moved downhill in energy; each step begins from a fresh leaf."""
    for _ in range(steps):
        x = x.detach().requires_grad_(True)
        g = torch.autograd.grad(energy(x).sum(), x)[0]
        x = x - size * g + noise * torch.randn_like(x)
    return x.detach()


def data(n):
    side = torch.randint(0, 2, (n, 1)).float() * 2 - 1
    return torch.cat([1.5 * side, torch.zeros(n, 1)], 1) + 0.2 * torch.randn(n, 2)


def main():
    torch.manual_seed(87)
    energy = Energy()
    opt = torch.optim.Adam(energy.parameters(), lr=5e-3, betas=(0.5, 0.99))
    buffer = 4 * torch.rand(256, 2) - 2
    untouched = True
    for step in range(50):
        idx = torch.randint(0, 256, (32,))
        start = buffer[idx]
        fresh = torch.rand(32, 1) < 0.1
        start = torch.where(fresh, 4 * torch.rand(32, 2) - 2, start)
        w = energy.net[0].weight.detach().clone()
        fake = langevin(energy, start)
        untouched = untouched and torch.equal(w, energy.net[0].weight.detach())
        buffer[idx] = fake
        e_real, e_fake = energy(data(32)), energy(fake)
        loss = e_real.mean() - e_fake.mean() + 0.1 * (e_real.pow(2) + e_fake.pow(2)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 9:
            print(f"step {step + 1} real {e_real.mean().item():+.3f} fake {e_fake.mean().item():+.3f}")
    with torch.no_grad():
        lower = energy(data(256)).mean() < energy(6 * torch.rand(256, 2) - 3).mean()
    print(f"sampler leaves the weights alone: {untouched}, data energy below noise energy: {bool(lower)}")


if __name__ == "__main__":
    main()
