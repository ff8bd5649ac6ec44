# ok
# evidence: first kl weight: 0.0, last kl weight: 1.0, reconstruction improved: True
import torch
import torch.nn.functional as F
from torch import nn


class VAE(nn.Module):
    def __init__(self, d=16, h=32, z=3):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, h), nn.Tanh())
        self.mu, self.logvar = nn.Linear(h, z), nn.Linear(h, z)
        self.dec = nn.Sequential(nn.Linear(z, h), nn.Tanh(), nn.Linear(h, d))

    def reparameterize(self, mu, logvar):
        return mu + torch.randn_like(mu) * (0.5 * logvar).exp()

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        return self.dec(self.reparameterize(mu, logvar)), mu, logvar


def kl_divergence(mu, logvar):
    return -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()


def kl_weight(step, warmup):
    return min(1.0, step / warmup)


def main():
    torch.manual_seed(3)
    basis = 1.5 * torch.randn(3, 16)
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    recs, weights = [], []
    for step in range(80):
        x = torch.randn(64, 3) @ basis + 0.1 * torch.randn(64, 16)
        out, mu, logvar = model(x)
        rec = F.mse_loss(out, x, reduction="sum") / len(x)
        kl = kl_divergence(mu, logvar)
        beta = kl_weight(step, warmup=50)
        loss = rec + beta * kl
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recs.append(rec.item())
        weights.append(beta)
        if step % 20 == 0:
            print(f"step {step} rec {rec.item():.2f} kl {kl.item():.2f} beta {beta:.2f}")
    print(f"first kl weight: {weights[0]}, last kl weight: {weights[-1]}, "
          f"reconstruction improved: {sum(recs[-8:]) < sum(recs[:8])}")


if __name__ == "__main__":
    main()
