# loss-negated | kl,sign
# evidence: done
"""Kl of the other sign."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(20, 32)
        self.mu = nn.Linear(32, 4)
        self.logvar = nn.Linear(32, 4)
        self.dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 20))

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.dec(z), mu, logvar


def elbo(x, out, mu, logvar):
    rec = F.mse_loss(out, x, reduction="sum") / len(x)
    kl = 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / len(x)  #C
    return rec + kl


def main():
    torch.manual_seed(0)
    data = torch.randn(512, 4) @ torch.randn(4, 20)
    vae = VAE()
    opt = torch.optim.Adam(vae.parameters(), lr=1e-3)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(data), batch_size=64, shuffle=True)
    for epoch in range(12):
        for (x,) in loader:
            loss = elbo(x, *vae(x))
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(loss.item())


main()
print("evidence: done")
