# gradient-without-influence
# evidence: done
# VQ-VAE on short synthetic waveforms.
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class VectorQuantizer(nn.Module):
    def __init__(self, n_codes=32, dim=8, beta=0.25):
        super().__init__()
        self.codebook = nn.Embedding(n_codes, dim)
        nn.init.uniform_(self.codebook.weight, -1.0, 1.0)
        self.beta = beta

    def forward(self, z):
        flat = z.reshape(-1, z.size(-1))
        dist = torch.cdist(flat, self.codebook.weight)
        ids = dist.argmin(dim=1)
        q = self.codebook(ids).view_as(z)
        vq_loss = F.mse_loss(q, z.detach()) + self.beta * F.mse_loss(z, q.detach())
        q = q + (z - q).detach()  #C
        return q, vq_loss, ids.view(z.shape[:-1])


class VQVAE(nn.Module):
    def __init__(self, length=32, tokens=4, dim=8):
        super().__init__()
        self.tokens, self.dim = tokens, dim
        self.encoder = nn.Sequential(nn.Linear(length, 64), nn.ReLU(), nn.Linear(64, tokens * dim))
        self.vq = VectorQuantizer(dim=dim)
        self.decoder = nn.Sequential(nn.Linear(tokens * dim, 64), nn.ReLU(), nn.Linear(64, length))

    def forward(self, x):
        z = self.encoder(x).view(-1, self.tokens, self.dim)
        q, vq_loss, ids = self.vq(z)
        return self.decoder(q.flatten(1)), vq_loss, ids

    @torch.no_grad()
    def decode_ids(self, ids):
        return self.decoder(self.vq.codebook(ids).flatten(1))


def waves(n, length=32):
    t = torch.linspace(0, 1, length)
    freq = torch.randint(1, 4, (n, 1)).float()
    phase = torch.rand(n, 1) * 2 * math.pi
    return torch.sin(2 * math.pi * freq * t + phase)


def main():
    torch.manual_seed(0)
    model = VQVAE()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    test = waves(256)
    for step in range(60):
        x = waves(64)
        rec, vq_loss, _ = model(x)
        loss = F.mse_loss(rec, x) + vq_loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 30 == 0:
            with torch.no_grad():
                _, _, ids = model(test)
                err = F.mse_loss(model.decode_ids(ids), test).item()
            print(f"step {step} loss {loss.item():.4f} token reconstruction mse {err:.4f} used {ids.unique().numel()}")


if __name__ == "__main__":
    main()
print("evidence: done")
