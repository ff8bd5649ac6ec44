# ok
# evidence: encoder moved: True, codebook moved: True, reconstruction improved: True
import torch
import torch.nn.functional as F
from torch import nn


class VectorQuantizer(nn.Module):
    def __init__(self, codes=16, dim=4, beta=0.25):
        super().__init__()
        self.codebook = nn.Embedding(codes, dim)
        nn.init.uniform_(self.codebook.weight, -0.5, 0.5)
        self.beta = beta

    def forward(self, z):
        dist = (z.pow(2).sum(1, keepdim=True) - 2 * z @ self.codebook.weight.t()
                + self.codebook.weight.pow(2).sum(1))
        index = dist.argmin(dim=1)
        q = self.codebook(index)
        codebook_loss = F.mse_loss(q, z.detach())
        commitment = F.mse_loss(z, q.detach())
        q = z + (q - z).detach()                 # straight-through
        return q, codebook_loss + self.beta * commitment, index


class VQVAE(nn.Module):
    def __init__(self, d=12, dim=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 32), nn.SiLU(), nn.Linear(32, dim))
        self.vq = VectorQuantizer(dim=dim)
        self.dec = nn.Sequential(nn.Linear(dim, 32), nn.SiLU(), nn.Linear(32, d))

    def forward(self, x):
        q, vq_loss, index = self.vq(self.enc(x))
        return self.dec(q), vq_loss, index


def main():
    torch.manual_seed(0)
    centers = torch.randn(8, 12)
    data = centers[torch.randint(0, 8, (512,))] + 0.1 * torch.randn(512, 12)
    model = VQVAE()
    enc0, code0 = model.enc[0].weight.detach().clone(), model.vq.codebook.weight.detach().clone()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    recs = []
    for epoch in range(8):
        perm = torch.randperm(len(data))
        used = set()
        for i in range(0, len(data), 64):
            x = data[perm[i:i + 64]]
            out, vq_loss, index = model(x)
            rec = F.mse_loss(out, x)
            loss = rec + vq_loss
            opt.zero_grad()
            loss.backward()
            opt.step()
            recs.append(rec.item())
            used.update(index.tolist())
        print(f"epoch {epoch} rec {recs[-1]:.4f} vq {vq_loss.item():.4f} codes used {len(used)}")
    print(f"encoder moved: {not torch.equal(enc0, model.enc[0].weight.detach())}, codebook moved: "
          f"{not torch.equal(code0, model.vq.codebook.weight.detach())}, "
          f"reconstruction improved: {sum(recs[-8:]) < sum(recs[:8])}")


if __name__ == "__main__":
    main()
