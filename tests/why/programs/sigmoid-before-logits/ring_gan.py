# sigmoid-before-logits | sigmoid, logits/bcewithlogits/bcewithlogitsloss
# evidence: discriminator loss ever below 1.0: False
import math

import torch
import torch.nn as nn


class Generator(nn.Module):
    def __init__(self, z=4):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(z, 24), nn.ReLU(), nn.Linear(24, 2))

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, 32),
            nn.LeakyReLU(0.2),
            nn.Linear(32, 1),
            nn.Sigmoid(),  #C
        )

    def forward(self, x):
        return self.net(x)


def ring(n):
    a = 2 * math.pi * torch.rand(n)
    return torch.stack([a.cos(), a.sin()], 1) * 2.0 + 0.05 * torch.randn(n, 2)


def main():
    torch.manual_seed(2)
    batch = 32
    G, D = Generator(), Discriminator()
    opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(D.parameters(), lr=5e-3, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()
    ones, zeros = torch.ones(batch, 1), torch.zeros(batch, 1)
    lowest = float("inf")
    for it in range(60):
        fake = G(torch.randn(batch, 4))
        d_loss = criterion(D(ring(batch)), ones) + criterion(D(fake.detach()), zeros)  #C
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()

        g_loss = criterion(D(fake), ones)  #C
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
        lowest = min(lowest, d_loss.item())
        if it % 15 == 0:
            print(f"it {it} d {d_loss.item():.3f} g {g_loss.item():.3f}")
    print("discriminator loss ever below 1.0:", lowest < 1.0)


if __name__ == "__main__":
    main()
