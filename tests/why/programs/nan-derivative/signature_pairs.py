# nan-derivative | sqrt, nan/inf/finite
# evidence: encoder finite after training: False
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(0)


class PairDataset(Dataset):
    """Pairs of signatures; label 1 when both come from the same writer."""

    def __init__(self, n=160, writers=5, dim=12):
        centers = torch.randn(writers, dim) * 2
        self.owner = torch.arange(n) % writers
        self.items = centers[self.owner] + 0.3 * torch.randn(n, dim)
        g = torch.Generator().manual_seed(1)
        self.left = torch.arange(n)
        self.right = torch.randint(0, n, (n,), generator=g)
        half = n // 2
        for i in range(half):
            same = (self.owner == self.owner[i]).nonzero().flatten()
            self.right[i] = same[i % len(same)]

    def __len__(self):
        return len(self.left)

    def __getitem__(self, i):
        a, b = self.left[i], self.right[i]
        return self.items[a], self.items[b], (self.owner[a] == self.owner[b]).float()


class Siamese(nn.Module):
    def __init__(self, dim=12, emb=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(dim, 24), nn.ReLU(), nn.Linear(24, emb))

    def forward(self, a, b):
        return self.encoder(a), self.encoder(b)


def euclidean(u, v):
    return torch.sqrt(((u - v) ** 2).sum(dim=1))  #C


def contrastive_loss(u, v, same, margin=2.0):
    d = euclidean(u, v)
    return (same * d ** 2 + (1 - same) * F.relu(margin - d) ** 2).mean()


def main():
    loader = DataLoader(PairDataset(), batch_size=32, shuffle=True)
    model = Siamese()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(5):
        total = 0.0
        for a, b, same in loader:
            loss = contrastive_loss(*model(a, b), same)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.4f}")
    ok = all(torch.isfinite(p).all().item() for p in model.encoder.parameters())
    print("encoder finite after training:", ok)


if __name__ == "__main__":
    main()
