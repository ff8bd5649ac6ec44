# ok
# evidence: both networks moved: True, generator spread grew towards the data: True
import math

import torch
from torch import nn


def real_batch(n):
    angle = 2 * math.pi * torch.rand(n)
    return torch.stack([2 * angle.cos(), 2 * angle.sin()], 1) + 0.1 * torch.randn(n, 2)


class Generator(nn.Module):
    def __init__(self, z=4):
        super().__init__()
        self.z = z
        self.net = nn.Sequential(nn.Linear(z, 32), nn.LeakyReLU(0.2), nn.Linear(32, 2))

    def forward(self, n):
        return self.net(torch.randn(n, self.z))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2),
                                 nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


def main():
    torch.manual_seed(0)
    G, D = Generator(), Discriminator()
    opt_g = torch.optim.Adam(G.parameters(), lr=5e-3, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(D.parameters(), lr=5e-3, betas=(0.5, 0.999))
    bce = nn.BCEWithLogitsLoss()
    n = 64
    ones, zeros = torch.ones(n), torch.zeros(n)
    g0, d0 = G.net[0].weight.detach().clone(), D.net[0].weight.detach().clone()
    with torch.no_grad():
        spread0 = G(256).norm(dim=1).mean().item()

    for step in range(60):
        # discriminator: the fakes are detached, the generator is not updated here
        fake = G(n)
        loss_d = bce(D(real_batch(n)), ones) + bce(D(fake.detach()), zeros)
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()

        # generator: non-saturating loss through the updated discriminator
        loss_g = bce(D(fake), ones)
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        if step % 15 == 14:
            print(f"step {step + 1}: D {loss_d.item():.3f} G {loss_g.item():.3f}")

    with torch.no_grad():
        spread1 = G(256).norm(dim=1).mean().item()
    moved = not torch.equal(g0, G.net[0].weight.detach()) and not torch.equal(d0, D.net[0].weight.detach())
    print(f"both networks moved: {moved}, generator spread grew towards the data: {spread1 > spread0}")


if __name__ == "__main__":
    main()
