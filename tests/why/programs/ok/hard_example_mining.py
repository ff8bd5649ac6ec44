# ok
# evidence: only the hardest half counted: True, recall of rare class above 0.5: True
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler


class OHEMLoss(nn.Module):
    """Online hard example mining: the easier half of a batch is left out of the mean."""

    def __init__(self, keep=0.5):
        super().__init__()
        self.keep, self.last = keep, (0, 0)

    def forward(self, logits, y):
        per_sample = F.cross_entropy(logits, y, reduction="none")
        k = max(1, int(self.keep * len(y)))
        self.last = (k, len(y))
        return per_sample.topk(k).values.mean()


def events(n):
    y = (torch.rand(n) < 0.15).long()
    x = torch.randn(n, 7)
    x[y == 1, :2] += 2.0
    return x, y


def main():
    torch.manual_seed(94)
    x, y = events(240)
    weights = torch.where(y == 1, 4.0, 1.0)
    sampler = WeightedRandomSampler(weights.tolist(), num_samples=len(y), replacement=True)
    loader = DataLoader(TensorDataset(x, y), batch_size=40, sampler=sampler)
    model = nn.Sequential(nn.Linear(7, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, 2))
    criterion = OHEMLoss()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    xv, yv = events(400)
    for epoch in range(8):
        model.train()
        for xb, yb in loader:
            loss = criterion(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            pred = model(xv).argmax(1)
            recall = (pred[yv == 1] == 1).float().mean().item()
        print(f"epoch {epoch} hard loss {loss.item():.3f} recall {recall:.3f}")
    half = criterion.last[0] * 2 == criterion.last[1]
    print(f"only the hardest half counted: {half}, recall of rare class above 0.5: {recall > 0.5}")


if __name__ == "__main__":
    main()
