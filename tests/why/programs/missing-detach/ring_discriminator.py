# missing-detach
# evidence: done
"""GAN on a ring of Gaussians."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def ring(n, modes=6, radius=2.0):
    k = torch.randint(0, modes, (n,)).float() * (2 * math.pi / modes)
    centre = torch.stack([k.cos(), k.sin()], 1) * radius
    return centre + 0.1 * torch.randn(n, 2)


def mlp(i, o, h=48):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2),
                         nn.Linear(h, h), nn.LeakyReLU(0.2),
                         nn.Linear(h, o))


class GanTrainer:
    def __init__(self, z_dim=8):
        self.z_dim = z_dim
        self.gen, self.disc = mlp(z_dim, 2), mlp(2, 1)
        self.opt_g = torch.optim.Adam(self.gen.parameters(), lr=1e-3, betas=(0.5, 0.99))
        self.opt_d = torch.optim.Adam(self.disc.parameters(), lr=1e-3, betas=(0.5, 0.99))

    def noise(self, n):
        return torch.randn(n, self.z_dim)

    def step_disc(self, real):
        fake = self.gen(self.noise(real.size(0))).detach()
        d_real, d_fake = self.disc(real), self.disc(fake)
        loss = (F.binary_cross_entropy_with_logits(d_real, torch.ones_like(d_real))
                + F.binary_cross_entropy_with_logits(d_fake, torch.zeros_like(d_fake)))
        loss.backward()  #C
        self.opt_d.step()  #C
        self.opt_d.zero_grad()  #C
        acc = ((d_real > 0).float().mean() + (d_fake < 0).float().mean()) / 2
        return loss.item(), acc.item()

    def step_gen(self, n):
        out = self.disc(self.gen(self.noise(n)))  #C
        loss = F.binary_cross_entropy_with_logits(out, torch.ones_like(out))
        loss.backward()  #C
        self.opt_g.step()
        self.opt_g.zero_grad()
        return loss.item()

    def fit(self, steps, batch=64):
        accs = []
        for it in range(steps):
            d_loss, acc = self.step_disc(ring(batch))
            g_loss = self.step_gen(batch)
            accs.append(acc)
            if it % 40 == 39:
                print(f"it {it:3d} d {d_loss:.3f} g {g_loss:.3f} "
                      f"acc {sum(accs[-40:]) / 40:.3f}")


@torch.no_grad()
def radius_stats(trainer):
    pts = trainer.gen(trainer.noise(512))
    r = pts.norm(dim=1)
    return r.mean().item(), r.std().item()


def main():
    torch.manual_seed(0)
    trainer = GanTrainer()
    trainer.fit(240)
    mean, std = radius_stats(trainer)
    print(f"generated radius {mean:.3f} +- {std:.3f} (data 2.0)")


if __name__ == "__main__":
    main()
print("evidence: done")
