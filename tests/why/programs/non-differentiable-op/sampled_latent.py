# non-differentiable-op
# evidence: done
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal, kl_divergence


class VAE(nn.Module):
    def __init__(self, d=20, h=48, z=3):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, h), nn.ReLU())
        self.to_mu = nn.Linear(h, z)
        self.to_logvar = nn.Linear(h, z)
        self.decoder = nn.Sequential(nn.Linear(z, h), nn.ReLU(), nn.Linear(h, d))

    def encode(self, x):
        h = self.encoder(x)
        return Normal(self.to_mu(h), torch.exp(0.5 * self.to_logvar(h)))

    def forward(self, x):
        q = self.encode(x)
        z = q.sample()  #C
        return self.decoder(z), q  #C


def elbo_terms(x, recon, q, beta):
    rec = F.mse_loss(recon, x, reduction="none").sum(-1).mean()
    prior = Normal(torch.zeros_like(q.loc), torch.ones_like(q.scale))
    kl = kl_divergence(q, prior).sum(-1).mean()
    return rec + beta * kl, rec, kl  #C


def main():
    torch.manual_seed(0)
    basis = torch.randn(3, 20)
    data = torch.tanh(torch.randn(1024, 3) @ basis)
    model = VAE()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(20):
        sums = torch.zeros(2)
        for idx in torch.randperm(len(data)).split(64):
            x = data[idx]
            recon, q = model(x)
            loss, rec, kl = elbo_terms(x, recon, q, beta=0.1)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            sums += torch.tensor([rec.item(), kl.item()])
        if epoch % 5 == 4:
            rec, kl = (sums / 16).tolist()
            print(f"epoch {epoch} reconstruction {rec:.3f} kl {kl:.3f}")
    with torch.no_grad():
        mu = model.encode(data).loc
        mse = F.mse_loss(model.decoder(mu), data).item()
    print(f"mean-latent reconstruction mse {mse:.4f} latent spread {mu.std(0).mean().item():.4f}")


if __name__ == "__main__":
    main()
print("evidence: done")
