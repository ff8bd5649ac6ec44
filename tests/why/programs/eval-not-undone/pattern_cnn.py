# eval-not-undone | eval, train
# evidence: train mode in last epoch: False
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split


@dataclass
class Config:
    epochs: int = 4
    batch_size: int = 16
    lr: float = 3e-3
    drop: float = 0.4


class PatternNet(nn.Module):
    def __init__(self, drop):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 12, 3, padding=1)
        self.drop = nn.Dropout(drop)
        self.fc = nn.Linear(12 * 4, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(self.drop(x.flatten(1)))


def make_patterns(n=160):
    y = torch.randint(0, 4, (n,))
    x = torch.randn(n, 1, 8, 8) * 0.3
    for i, c in enumerate(y.tolist()):
        r, s = divmod(c, 2)
        x[i, 0, 4 * r:4 * r + 4, 4 * s:4 * s + 4] += 1.0
    return TensorDataset(x, y)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()  #C
    hits = total = 0
    for x, y in loader:
        hits += (model(x).argmax(1) == y).sum().item()
        total += len(y)
    return hits / total


def main():
    torch.manual_seed(0)
    cfg = Config()
    train_set, val_set = random_split(make_patterns(), [128, 32])
    train_loader = DataLoader(train_set, batch_size=cfg.batch_size, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=cfg.batch_size)

    model = PatternNet(cfg.drop)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    model.train()
    for epoch in range(cfg.epochs):  #C
        running = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            running += loss.item()
            mode = model.training
        acc = evaluate(model, val_loader)
        print(f"epoch {epoch} loss {running / len(train_loader):.3f} val acc {acc:.2f}")
    print(f"train mode in last epoch: {mode}")


if __name__ == "__main__":
    main()
