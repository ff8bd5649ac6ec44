# retain-graph-needless, graph-kept | retain_graph/retain graph/retained
# evidence: discriminator graph outlived its backward: True
import torch
import torch.nn as nn
import torch.nn.functional as F


class Generator(nn.Module):
    def __init__(self, latent=3, width=20, n_out=4):
        super().__init__()
        self.latent = latent
        self.net = nn.Sequential(nn.Linear(latent, width), nn.ReLU(), nn.Linear(width, n_out))

    def sample(self, n):
        return self.net(torch.randn(n, self.latent))


class Discriminator(nn.Module):
    def __init__(self, n_in=4, width=20):
        super().__init__()
        self.fc1 = nn.Linear(n_in, width)
        self.fc2 = nn.Linear(width, 1)

    def forward(self, x):
        return self.fc2(F.leaky_relu(self.fc1(x), 0.2)).squeeze(-1)


def real_lines(n):
    slope = torch.randn(n, 1)
    return slope * torch.tensor([[1.0, 2.0, 3.0, 4.0]]) / 4 + 0.05 * torch.randn(n, 4)


def still_usable(loss, scores):
    try:
        torch.autograd.grad(loss, scores)
    except RuntimeError:
        return False
    return True


class GANTrainer:
    def __init__(self):
        self.G, self.D = Generator(), Discriminator()
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=2e-3, betas=(0.5, 0.9))
        self.opt_d = torch.optim.Adam(self.D.parameters(), lr=2e-3, betas=(0.5, 0.9))

    def d_step(self, n):
        real, fake = self.D(real_lines(n)), self.D(self.G.sample(n).detach())
        loss = F.softplus(-real).mean() + F.softplus(fake).mean()
        self.opt_d.zero_grad()
        loss.backward(retain_graph=True)  #C
        self.opt_d.step()
        return loss, real

    def g_step(self, n):
        loss = F.softplus(-self.D(self.G.sample(n))).mean()
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()
        return loss


def main():
    torch.manual_seed(101)
    trainer = GANTrainer()
    for it in range(30):
        d_loss, real_scores = trainer.d_step(32)
        g_loss = trainer.g_step(32)
        if it % 10 == 0:
            print(f"it {it} d {d_loss.item():.4f} g {g_loss.item():.4f}")
    print("discriminator graph outlived its backward:", still_usable(d_loss, real_scores))


if __name__ == "__main__":
    main()
