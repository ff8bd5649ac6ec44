# detach | detach
# evidence: generator moved: False
# parameters: layers.0.weight, layers.0.bias, layers.2.weight, layers.2.bias, layers.4.weight, layers.4.bias
import math
import torch
import torch.nn as nn

torch.manual_seed(0)


class Generator(nn.Module):
    def __init__(self, z_dim=4):
        super().__init__()
        self.z_dim = z_dim
        self.layers = nn.Sequential(
            nn.Linear(z_dim, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2)
        )

    def sample(self, n):
        return self.layers(torch.randn(n, self.z_dim))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def real_points(n):
    t = torch.rand(n) * 2 * math.pi
    return torch.stack([t.cos(), t.sin()], dim=1) + 0.05 * torch.randn(n, 2)


class GANTrainer:
    def __init__(self, batch_size=64):
        self.batch_size = batch_size
        self.G, self.D = Generator(), Discriminator()
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=1e-3, betas=(0.5, 0.999))
        self.opt_d = torch.optim.Adam(self.D.parameters(), lr=1e-3, betas=(0.5, 0.999))
        self.bce = nn.BCEWithLogitsLoss()

    def score(self, points, is_real):
        logits = self.D(points.detach())  #C
        target = torch.full_like(logits, 1.0 if is_real else 0.0)
        return self.bce(logits, target)

    def train_step(self):
        fake = self.G.sample(self.batch_size)
        d_loss = self.score(real_points(self.batch_size), True) + self.score(fake, False)
        self.opt_d.zero_grad()
        d_loss.backward()
        self.opt_d.step()

        fake = self.G.sample(self.batch_size)
        g_loss = self.score(fake, True)
        self.opt_g.zero_grad()
        g_loss.backward()
        self.opt_g.step()
        return d_loss.item(), g_loss.item()


def main():
    trainer = GANTrainer()
    start = [p.detach().clone() for p in trainer.G.parameters()]
    for step in range(40):
        d, g = trainer.train_step()
        if step % 10 == 0:
            print(f"step {step} d_loss {d:.3f} g_loss {g:.3f}")
    moved = any(not torch.equal(a, b) for a, b in zip(start, trainer.G.parameters()))
    print("generator moved:", moved)


if __name__ == "__main__":
    main()
