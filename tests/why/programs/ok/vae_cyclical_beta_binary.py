# ok
# evidence: cycles with zero weight: 3, elbo improved: True
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class BernoulliVAE(nn.Module):
    def __init__(self, d=20, z=2):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, 24), nn.SiLU(), nn.Linear(24, 2 * z))
        self.decoder = nn.Sequential(nn.Linear(z, 24), nn.SiLU(), nn.Linear(24, d))
        self.bce = nn.BCEWithLogitsLoss(reduction="none")

    def forward(self, x):
        mu, logvar = self.encoder(x).chunk(2, dim=1)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        rec = self.bce(self.decoder(z), x).sum(1).mean()
        kl = 0.5 * (mu.square() + logvar.exp() - 1 - logvar).sum(1).mean()
        return rec, kl


class CyclicalBeta:
    """Rises from 0 to 1 in the first half of each cycle and stays at 1 for the rest."""

    def __init__(self, period):
        self.period, self.t, self.zeros = period, 0, 0

    def __call__(self):
        beta = min(1.0, 2 * (self.t % self.period) / self.period)
        self.zeros += beta == 0.0
        self.t += 1
        return beta


def main():
    torch.manual_seed(57)
    proto = (torch.rand(4, 20) > 0.5).float()
    x = proto[torch.randint(0, 4, (160,))]
    flip = (torch.rand_like(x) < 0.05).float()
    x = (x - flip).abs()
    loader = DataLoader(TensorDataset(x), batch_size=32, shuffle=True)
    model, beta = BernoulliVAE(), CyclicalBeta(period=25)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    elbos = []
    for epoch in range(15):
        for (xb,) in loader:
            rec, kl = model(xb)
            b = beta()
            loss = rec + b * kl
            opt.zero_grad()
            loss.backward()
            opt.step()
            elbos.append(-(rec + kl).item())
        if epoch % 3 == 2:
            print(f"epoch {epoch + 1} rec {rec.item():.2f} kl {kl.item():.2f} beta {b:.2f}")
    print(f"cycles with zero weight: {beta.zeros}, elbo improved: {sum(elbos[-10:]) > sum(elbos[:10])}")


if __name__ == "__main__":
    main()
