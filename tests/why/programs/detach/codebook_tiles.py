# detach | detach
# evidence: encoder updated: False
# parameters: encoder.0.weight, encoder.0.bias, encoder.2.weight, encoder.2.bias
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(46)


class VectorQuantizer(nn.Module):
    def __init__(self, n_codes=16, dim=4):
        super().__init__()
        self.codebook = nn.Embedding(n_codes, dim)
        nn.init.uniform_(self.codebook.weight, -0.5, 0.5)

    def forward(self, z):
        idx = torch.cdist(z.detach(), self.codebook.weight).argmin(dim=1)
        q = self.codebook(idx)
        codebook_loss = F.mse_loss(q, z.detach())
        q = (z + (q - z)).detach()  #C
        return q, codebook_loss, idx


class VQVAE(nn.Module):
    def __init__(self, tile=16, hidden=32, dim=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(tile, hidden), nn.ReLU(), nn.Linear(hidden, dim))
        self.vq = VectorQuantizer(dim=dim)
        self.decoder = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, tile))

    def forward(self, x):
        q, codebook_loss, idx = self.vq(self.encoder(x))
        return self.decoder(q), codebook_loss, idx


def tiles(n=320, kinds=10):
    patterns = (torch.rand(kinds, 16) > 0.5).float()
    return TensorDataset(patterns[torch.randint(0, kinds, (n,))] + 0.1 * torch.randn(n, 16))


def main():
    loader = DataLoader(tiles(), batch_size=64, shuffle=True)
    model = VQVAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    first = [p.detach().clone() for p in model.encoder.parameters()]
    for epoch in range(8):
        used, recon_sum = set(), 0.0
        for (x,) in loader:
            recon, vq_loss, idx = model(x)
            recon_loss = F.mse_loss(recon, x)
            optimizer.zero_grad()
            (recon_loss + vq_loss).backward()
            optimizer.step()
            recon_sum += recon_loss.item()
            used.update(idx.tolist())
        print(f"epoch {epoch} recon {recon_sum / len(loader):.4f} codes used {len(used)}")
    updated = any(not torch.equal(a, b) for a, b in zip(first, model.encoder.parameters()))
    print("encoder updated:", updated)


if __name__ == "__main__":
    main()
