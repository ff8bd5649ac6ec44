# term-without-influence, zero-factor | kl/beta, 0/zero/weight
# evidence: values taken by the KL weight: [0]
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class VAE(nn.Module):
    def __init__(self, n_in=36, hidden=24, latent=4):
        super().__init__()
        self.enc = nn.Linear(n_in, hidden)
        self.mu = nn.Linear(hidden, latent)
        self.logvar = nn.Linear(hidden, latent)
        self.dec1 = nn.Linear(latent, hidden)
        self.dec2 = nn.Linear(hidden, n_in)

    def encode(self, x):
        h = torch.tanh(self.enc(x))
        return self.mu(h), self.logvar(h)

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return self.dec2(torch.tanh(self.dec1(z))), mu, logvar


def make_shapes(n=128, size=6):
    imgs = torch.zeros(n, size, size)
    for i in range(n):
        r, c = torch.randint(0, size - 2, (2,)).tolist()
        imgs[i, r:r + 3, c:c + 3] = 1.0
    return imgs.flatten(1)


def kl_weight(epoch, warmup_epochs=20, maximum=1):
    """Rises linearly from 0 to the maximum over the warmup."""
    return maximum * min(epoch, warmup_epochs) // warmup_epochs  #C


def elbo_terms(recon, x, mu, logvar):
    rec = F.binary_cross_entropy_with_logits(recon, x, reduction="sum") / len(x)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum() / len(x)
    return rec, kl


def main():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(make_shapes()), batch_size=32, shuffle=True)
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    weights = set()
    for epoch in range(12):
        totals = [0.0, 0.0]
        beta = kl_weight(epoch)
        weights.add(beta)
        for (x,) in loader:
            recon, mu, logvar = model(x)
            rec, kl = elbo_terms(recon, x, mu, logvar)
            loss = rec + beta * kl  #C
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            totals[0] += rec.item() / len(loader)
            totals[1] += kl.item() / len(loader)
        if epoch % 3 == 0:
            print(f"epoch {epoch}: reconstruction {totals[0]:.3f} kl {totals[1]:.4f}")
    print("values taken by the KL weight:", sorted(weights)[:3])


if __name__ == "__main__":
    main()
