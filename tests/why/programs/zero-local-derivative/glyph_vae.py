# zero-local-derivative
# evidence: done
"""Variational autoencoder on small synthetic glyphs."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def make_glyphs(n, side=8):
    imgs = torch.zeros(n, side, side)
    for i in range(n):
        r = int(torch.randint(1, side - 2, (1,)))
        c = int(torch.randint(1, side - 2, (1,)))
        if torch.rand(1).item() < 0.5:
            imgs[i, r:r + 2, :] = 1.0
        else:
            imgs[i, :, c:c + 2] = 1.0
    return imgs.flatten(1)


class VAE(nn.Module):
    def __init__(self, d_in=64, hidden=64, d_z=6):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d_in, hidden), nn.ReLU())
        self.to_mu = nn.Linear(hidden, d_z)
        self.to_logvar = nn.Linear(hidden, d_z)
        self.dec = nn.Sequential(
            nn.Linear(d_z, hidden), nn.ReLU(), nn.Linear(hidden, d_in)
        )

    def encode(self, x):
        h = self.enc(x)
        return self.to_mu(h), self.to_logvar(h)

    def sample_latent(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return torch.normal(mu, std)  #C

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = self.sample_latent(mu, logvar)  #C
        return self.dec(z), mu, logvar


def elbo_loss(logits, x, mu, logvar):
    rec = F.binary_cross_entropy_with_logits(logits, x, reduction="sum") / x.size(0)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    return rec + kl, rec, kl


def train(model, loader, epochs):
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(epochs):
        tot_rec = tot_kl = 0.0
        for (x,) in loader:
            logits, mu, logvar = model(x)
            loss, rec, kl = elbo_loss(logits, x, mu, logvar)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot_rec += rec.item()
            tot_kl += kl.item()
        if epoch % 4 == 3:
            print(f"epoch {epoch:2d} rec {tot_rec / len(loader):.3f} kl {tot_kl / len(loader):.3f}")


def main():
    torch.manual_seed(0)
    data = make_glyphs(512)
    loader = DataLoader(TensorDataset(data), batch_size=64, shuffle=True)
    model = VAE()
    train(model, loader, epochs=20)
    model.eval()
    with torch.no_grad():
        logits = model.dec(torch.randn(4, 6))
    print("sample mean", round(torch.sigmoid(logits).mean().item(), 4))


if __name__ == "__main__":
    main()
print("evidence: done")
