# not-in-optimizer | optimizer,same parameters
# evidence: done
"""Both hold the judge."""
import torch
import torch.nn as nn


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 32), nn.LeakyReLU(0.2), nn.Linear(32, o))


class Trainer:
    def __init__(self):
        self.g = mlp(4, 2)
        self.d = mlp(2, 1)
        self.g_opt = torch.optim.Adam(self.d.parameters(), lr=1e-3)  #C
        self.d_opt = torch.optim.Adam(self.d.parameters(), lr=1e-3)
        self.bce = nn.BCEWithLogitsLoss()

    def step(self, real):
        fake = self.g(torch.randn(len(real), 4))
        d_loss = self.bce(self.d(real), torch.ones(len(real), 1)) + self.bce(self.d(fake.detach()), torch.zeros(len(real), 1))
        self.d_opt.zero_grad()
        d_loss.backward()
        self.d_opt.step()
        g_loss = self.bce(self.d(fake), torch.ones(len(real), 1))
        self.g_opt.zero_grad()
        g_loss.backward()
        self.g_opt.step()
        return d_loss.item(), g_loss.item()


def main():
    torch.manual_seed(0)
    trainer = Trainer()
    for _ in range(50):
        angle = torch.rand(64) * 6.28
        out = trainer.step(torch.stack([angle.cos(), angle.sin()], 1))
    print(out)


main()
print("evidence: done")
