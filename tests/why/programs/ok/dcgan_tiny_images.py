# ok
# evidence: generator updates: 15, discriminator updates: 30, brightness closer to data: True
import torch
import torch.nn as nn
import torch.nn.functional as F


def blobs(n):
    """8x8 images with a bright spot in the middle rows, values in [-1, 1]."""
    img = -torch.ones(n, 1, 8, 8)
    col = torch.randint(1, 7, (n,))
    for i, c in enumerate(col.tolist()):
        img[i, 0, 2:6, c - 1:c + 2] = 0.9
    return (img + 0.05 * torch.randn_like(img)).clamp(-1, 1)


class Gen(nn.Module):
    def __init__(self, nz=8, ch=16):
        super().__init__()
        self.nz = nz
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ch, 4, bias=False), nn.BatchNorm2d(ch), nn.ReLU(True),
            nn.ConvTranspose2d(ch, 1, 4, 2, 1), nn.Tanh())

    def forward(self, z):
        return self.main(z.view(-1, self.nz, 1, 1))


class Disc(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, ch, 4, 2, 1), nn.LeakyReLU(0.2, True), nn.Conv2d(ch, 1, 4))

    def forward(self, x):
        return self.main(x).view(-1)


class GANTrainer:
    def __init__(self, d_steps=2):
        self.g, self.d = Gen(), Disc()
        self.opt_g = torch.optim.Adam(self.g.parameters(), lr=4e-3, betas=(0.5, 0.99))
        self.opt_d = torch.optim.Adam(self.d.parameters(), lr=2e-3, betas=(0.5, 0.99))
        self.d_steps = d_steps
        self.updates = {"g": 0, "d": 0}

    def step_d(self, real):
        with torch.no_grad():
            fake = self.g(torch.randn(len(real), self.g.nz))
        self.d.zero_grad()
        real_logit, fake_logit = self.d(real), self.d(fake)
        loss = (F.binary_cross_entropy_with_logits(real_logit, torch.full_like(real_logit, 0.9))
                + F.binary_cross_entropy_with_logits(fake_logit, torch.zeros_like(fake_logit)))
        loss.backward()
        self.opt_d.step()
        self.updates["d"] += 1
        return loss.item()

    def step_g(self, n):
        for p in self.d.parameters():
            p.requires_grad_(False)
        logit = self.d(self.g(torch.randn(n, self.g.nz)))
        loss = F.binary_cross_entropy_with_logits(logit, torch.ones_like(logit))
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()
        for p in self.d.parameters():
            p.requires_grad_(True)
        self.updates["g"] += 1
        return loss.item()

    def fit(self, rounds, n=16):
        for r in range(rounds):
            for _ in range(self.d_steps):
                ld = self.step_d(blobs(n))
            lg = self.step_g(n)
            if r % 5 == 4:
                print(f"round {r + 1} d {ld:.3f} g {lg:.3f}")


def main():
    torch.manual_seed(2)
    t = GANTrainer()
    target = blobs(64).mean().item()

    @torch.no_grad()
    def gap():
        t.g.eval()
        value = abs(t.g(torch.randn(64, t.g.nz)).mean().item() - target)
        t.g.train()
        return value

    first = gap()
    t.fit(15)
    print(f"generator updates: {t.updates['g']}, discriminator updates: {t.updates['d']}, "
          f"brightness closer to data: {gap() < first}")


if __name__ == "__main__":
    main()
