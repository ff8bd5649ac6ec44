# ok
# evidence: identity at start: True, gates opened: True, loss went down: True
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class ReZeroBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.ff = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.alpha = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return x + self.alpha * self.ff(x)


class DeepNet(nn.Module):
    def __init__(self, d_in, dim=16, depth=6):
        super().__init__()
        self.inp = nn.Linear(d_in, dim)
        self.blocks = nn.ModuleList([ReZeroBlock(dim) for _ in range(depth)])
        self.out = nn.Linear(dim, 1)

    def trunk(self, h):
        for block in self.blocks:
            h = block(h)
        return h

    def forward(self, x):
        return self.out(self.trunk(self.inp(x))).squeeze(-1)


def main():
    torch.manual_seed(21)
    x = torch.randn(200, 5)
    y = x[:, 0] * x[:, 1] + torch.sin(2 * x[:, 2])
    loader = DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True)
    model = DeepNet(5)
    h = torch.randn(4, 16)
    identity = torch.equal(model.trunk(h), h)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.5)
    losses = []
    for epoch in range(10):
        total = 0.0
        for xb, yb in loader:
            loss = (model(xb) - yb).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        scheduler.step()
        losses.append(total / len(loader))
        print(f"epoch {epoch} mse {losses[-1]:.4f} lr {scheduler.get_last_lr()[0]:.4f}")
    opened = all(b.alpha.item() != 0.0 for b in model.blocks)
    print(f"identity at start: {identity}, gates opened: {opened}, loss went down: {losses[-1] < losses[0]}")


if __name__ == "__main__":
    main()
