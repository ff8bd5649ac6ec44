# missing-detach
# evidence: done
"""GAN on a ring of 2-D Gaussians."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

LATENT = 4


class Generator(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(LATENT, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                                 nn.Linear(hidden, 2))

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.LeakyReLU(0.2), nn.Linear(hidden, hidden),
                                 nn.LeakyReLU(0.2), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def sample_real(n):
    k = torch.randint(0, 8, (n,))
    angle = 2 * math.pi * k / 8
    return torch.stack([angle.cos(), angle.sin()], 1) * 2 + 0.1 * torch.randn(n, 2)


def d_loss_fn(real_logits, fake_logits):
    return F.softplus(-real_logits).mean() + F.softplus(fake_logits).mean()


def g_loss_fn(fake_logits):
    return F.softplus(-fake_logits).mean()


def mode_stats(gen, n=1000):
    """Mean distance to the closest mode, and how many modes get samples."""
    angle = 2 * math.pi * torch.arange(8) / 8
    centers = 2 * torch.stack([angle.cos(), angle.sin()], 1)
    with torch.no_grad():
        dist, which = torch.cdist(gen(torch.randn(n, LATENT)), centers).min(dim=1)
    return dist.mean().item(), len(which[dist < 0.5].unique())


def main():
    torch.manual_seed(0)
    gen, disc = Generator(), Discriminator()
    opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(disc.parameters(), lr=1e-3, betas=(0.5, 0.999))
    batch, d_steps = 128, 3
    for step in range(1, 161):
        opt_g.zero_grad()  #C
        for _ in range(d_steps):
            real = sample_real(batch)
            fake = gen(torch.randn(batch, LATENT))
            d_loss = d_loss_fn(disc(real), disc(fake))  #C
            opt_d.zero_grad()
            d_loss.backward()  #C
            opt_d.step()

        fake = gen(torch.randn(batch, LATENT))
        g_loss = g_loss_fn(disc(fake))
        g_loss.backward()
        opt_g.step()

        if step % 100 == 0:
            dist, modes = mode_stats(gen)
            print(f"step {step}: d {d_loss.item():.3f} g {g_loss.item():.3f} distance {dist:.3f} modes {modes}")


if __name__ == "__main__":
    main()
print("evidence: done")
