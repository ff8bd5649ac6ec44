# schedule-wrong | scheduler, optimizer, discriminator/generator/other/another/opt_d/opt_g/twice/same
# evidence: generator lr unchanged: True, discriminator lr unchanged: False
import math
import torch
from torch import nn
import torch.nn.functional as F


class Generator(nn.Module):
    def __init__(self, n_z=4, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_z, hidden), nn.LeakyReLU(0.2), nn.Linear(hidden, 2))
        self.n_z = n_z

    def forward(self, n):
        return self.net(torch.randn(n, self.n_z))


class Discriminator(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.LeakyReLU(0.2), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


def real_points(n):
    angle = torch.rand(n) * 2 * math.pi
    return torch.stack([torch.cos(angle), torch.sin(angle)], dim=1) + 0.05 * torch.randn(n, 2)


class GANTrainer:
    def __init__(self, lr=2e-3, decay=0.9):
        self.g, self.d = Generator(), Discriminator()
        self.opt_g = torch.optim.Adam(self.g.parameters(), lr=lr, betas=(0.5, 0.99))
        self.opt_d = torch.optim.Adam(self.d.parameters(), lr=lr, betas=(0.5, 0.99))
        self.sched_g = torch.optim.lr_scheduler.ExponentialLR(self.opt_d, gamma=decay)  #C
        self.sched_d = torch.optim.lr_scheduler.ExponentialLR(self.opt_d, gamma=decay)

    def step(self, n=32):
        real, fake = real_points(n), self.g(n).detach()
        d_loss = F.softplus(-self.d(real)).mean() + F.softplus(self.d(fake)).mean()
        self.opt_d.zero_grad()
        d_loss.backward()
        self.opt_d.step()

        g_loss = F.softplus(-self.d(self.g(n))).mean()
        self.opt_g.zero_grad()
        g_loss.backward()
        self.opt_g.step()
        return d_loss.item(), g_loss.item()

    def fit(self, epochs=5, steps=10):
        for epoch in range(epochs):
            losses = [self.step() for _ in range(steps)]
            self.sched_g.step()
            self.sched_d.step()
            d = sum(l[0] for l in losses) / steps
            g = sum(l[1] for l in losses) / steps
            print(f"epoch {epoch}: d {d:.3f} g {g:.3f}")


def main():
    torch.manual_seed(0)
    lr = 2e-3
    trainer = GANTrainer(lr=lr)
    trainer.fit()
    g_same = trainer.opt_g.param_groups[0]["lr"] == lr
    d_same = trainer.opt_d.param_groups[0]["lr"] == lr
    print(f"generator lr unchanged: {g_same}, discriminator lr unchanged: {d_same}")


if __name__ == "__main__":
    main()
