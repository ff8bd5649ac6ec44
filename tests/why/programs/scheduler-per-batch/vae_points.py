# scheduler-per-batch, learning-rate-zero | scheduler, batch/epoch/step
# evidence: rate is under a thousandth of its start after two epochs: True
from dataclasses import dataclass

import torch
from torch import nn
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    epochs: int = 6
    lr: float = 5e-3
    decay_every: int = 2  # epochs
    gamma: float = 0.5
    batch_size: int = 8
    beta: float = 0.1


class VAE(nn.Module):
    def __init__(self, n_in=6, latent=2):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(n_in, 24), nn.ReLU())
        self.mu = nn.Linear(24, latent)
        self.logvar = nn.Linear(24, latent)
        self.dec = nn.Sequential(nn.Linear(latent, 24), nn.ReLU(), nn.Linear(24, n_in))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return self.dec(z), mu, logvar


def elbo(x, recon, mu, logvar, beta):
    rec = (x - recon).pow(2).sum(1).mean()
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
    return rec + beta * kl


def run_epoch(model, loader, optimizer, scheduler, cfg):
    total = 0.0
    for (x,) in loader:
        loss = elbo(x, *model(x), cfg.beta)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()  #C
        total += loss.item() * len(x)
    return total / len(loader.dataset)


def main():
    torch.manual_seed(100)
    cfg = Config()
    factors = torch.randn(96, 2)
    points = factors @ torch.randn(2, 6) + 0.05 * torch.randn(96, 6)
    loader = DataLoader(TensorDataset(points), batch_size=cfg.batch_size, shuffle=True)
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    scheduler = lr_scheduler.StepLR(optimizer, step_size=cfg.decay_every, gamma=cfg.gamma)
    rates = []
    for epoch in range(cfg.epochs):
        loss = run_epoch(model, loader, optimizer, scheduler, cfg)
        rates.append(optimizer.param_groups[0]["lr"])
        print(f"epoch {epoch} elbo {loss:.4f} lr {rates[-1]:.2e}")
    print("rate is under a thousandth of its start after two epochs:", rates[1] < cfg.lr / 1000)


if __name__ == "__main__":
    main()
