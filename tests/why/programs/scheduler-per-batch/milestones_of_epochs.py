# scheduler-per-batch
# evidence: done
"""Residual MLP classifier on concentric shells with a stepped learning rate."""
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def shells(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 3, (n,), generator=g)
    d = F.normalize(torch.randn(n, 5, generator=g), dim=1)
    r = 1.0 + 0.7 * y + 0.12 * torch.randn(n, generator=g)
    return d * r[:, None], y


class ResBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.BatchNorm1d(dim)
        self.fc1, self.fc2 = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, x):
        return x + self.fc2(F.relu(self.fc1(self.norm(x))))


class ResMLP(nn.Module):
    def __init__(self, dim=32, depth=2):
        super().__init__()
        self.stem = nn.Linear(5, dim)
        self.blocks = nn.Sequential(*[ResBlock(dim) for _ in range(depth)])
        self.head = nn.Linear(dim, 3)

    def forward(self, x):
        return self.head(F.relu(self.blocks(self.stem(x))))


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return hits / len(loader.dataset)


def train_one_epoch(model, loader, opt, scheduler):
    model.train()
    total = 0.0
    for x, y in loader:
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y, label_smoothing=0.02)
        loss.backward()
        opt.step()
        scheduler.step()  #C
        total += loss.item()
    return total / len(loader)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(TensorDataset(*shells(512, 1)), batch_size=64, shuffle=True)
    val_loader = DataLoader(TensorDataset(*shells(256, 2)), batch_size=256)
    model = ResMLP()
    epochs = 12
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(opt, milestones=[6, 10], gamma=0.1)  #C
    best = 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "best.pt")
        for epoch in range(epochs):
            loss = train_one_epoch(model, train_loader, opt, scheduler)  #C
            acc = evaluate(model, val_loader)
            if acc > best:
                best = acc
                torch.save(model.state_dict(), path)
            print(f"epoch {epoch:2d} loss {loss:.4f} val acc {acc:.3f}")
        model.load_state_dict(torch.load(path))
    print(f"best val acc {evaluate(model, val_loader):.3f}")


if __name__ == "__main__":
    main()
print("evidence: done")
