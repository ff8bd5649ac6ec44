# ok
# evidence: some blocks were skipped in training: True, none at evaluation: True, loss went down: True
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class SkippableBlock(nn.Module):
    """The whole branch is left out with probability p in training, scaled by 1 - p at evaluation."""

    def __init__(self, dim, p):
        super().__init__()
        self.branch = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU(), nn.Linear(dim, dim))
        self.p = p
        self.calls = self.skipped = 0

    def forward(self, x):
        self.calls += 1
        if self.training:
            if torch.rand(()).item() < self.p:
                self.skipped += 1
                return x
            return x + self.branch(x)
        return x + (1 - self.p) * self.branch(x)


class ResMLP(nn.Module):
    def __init__(self, d, dim, depth, p_last, classes):
        super().__init__()
        self.inp = nn.Linear(d, dim)
        self.blocks = nn.ModuleList(SkippableBlock(dim, p_last * (i + 1) / depth) for i in range(depth))
        self.out = nn.Linear(dim, classes)

    def forward(self, x):
        x = self.inp(x)
        for b in self.blocks:
            x = b(x)
        return self.out(x)


def main():
    torch.manual_seed(32)
    x = torch.randn(224, 6)
    y = (x[:, 0] * x[:, 1] > 0).long() + (x[:, 2] > 0.5).long()
    loader = DataLoader(TensorDataset(x[:160], y[:160]), batch_size=32, shuffle=True)
    model = ResMLP(6, 24, depth=4, p_last=0.5, classes=3)
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss()
    history = []
    for epoch in range(8):
        model.train()
        for xb, yb in loader:
            loss = criterion(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            history.append(criterion(model(x[:160]), y[:160]).item())
        print(f"epoch {epoch} loss {history[-1]:.4f}")
    skipped = sum(b.skipped for b in model.blocks)
    with torch.no_grad():
        model(x[160:])
    none = sum(b.skipped for b in model.blocks) == skipped
    print(f"some blocks were skipped in training: {skipped > 0}, none at evaluation: {none}, "
          f"loss went down: {history[-1] < history[0]}")


if __name__ == "__main__":
    main()
