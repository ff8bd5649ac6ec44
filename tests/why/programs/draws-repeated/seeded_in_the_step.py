# draws-repeated, data-constant
# evidence: latents of two steps are equal: True
import torch
import torch.nn as nn
import torch.nn.functional as F


class Trainer:
    def __init__(self, dim=4):
        self.dim = dim
        self.generator = nn.Sequential(nn.Linear(dim, 16), nn.ReLU(), nn.Linear(16, 2))
        self.critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
        self.g = torch.optim.Adam(self.generator.parameters(), lr=2e-3)
        self.c = torch.optim.Adam(self.critic.parameters(), lr=2e-3)

    def latents(self, n):
        torch.manual_seed(11)
        return torch.randn(n, self.dim)  #C

    def step(self, real):
        fake = self.generator(self.latents(len(real)))
        loss = F.softplus(self.critic(fake.detach())).mean() + F.softplus(-self.critic(real)).mean()
        self.c.zero_grad()
        loss.backward()
        self.c.step()
        self.g.zero_grad()
        F.softplus(-self.critic(fake)).mean().backward()
        self.g.step()


torch.manual_seed(0)
data = torch.randn(600, 2) * 0.3 + torch.tensor([1.0, -1.0])
trainer = Trainer()
for step in range(40):
    trainer.step(data[(step * 32) % 568:][:32])
print("evidence: latents of two steps are equal:", torch.equal(trainer.latents(3), trainer.latents(3)))
