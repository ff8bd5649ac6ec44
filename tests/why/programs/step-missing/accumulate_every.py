# step-missing | step
# evidence: optimizer steps taken: 0
import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Patchify(nn.Module):
    def __init__(self, patch=4, dim=16):
        super().__init__()
        self.proj = nn.Conv2d(1, dim, patch, stride=patch)

    def forward(self, x):
        return self.proj(x).flatten(2).transpose(1, 2)


class TinyViT(nn.Module):
    def __init__(self, dim=16, classes=4):
        super().__init__()
        self.patch = Patchify(dim=dim)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(0.02 * torch.randn(1, 5, dim))
        self.block = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        h = self.patch(x)
        h = torch.cat([self.cls.expand(len(x), -1, -1), h], dim=1) + self.pos
        return self.head(self.block(h)[:, 0])


def quadrants(n=96):
    y = torch.randint(0, 4, (n,))
    x = 0.3 * torch.randn(n, 1, 8, 8)
    for i, c in enumerate(y.tolist()):
        r, s = 4 * (c // 2), 4 * (c % 2)
        x[i, 0, r:r + 4, s:s + 4] += 1.0
    return TensorDataset(x, y)


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--accumulate", type=int, default=8)
    return p.parse_args([])


def main():
    args = parse()
    torch.manual_seed(47)
    loader = DataLoader(quadrants(), batch_size=args.batch_size, shuffle=True)
    model = TinyViT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    steps = 0
    for epoch in range(args.epochs):
        optimizer.zero_grad()
        total = 0.0
        for i, (x, y) in enumerate(loader):
            loss = criterion(model(x), y)
            (loss / args.accumulate).backward()
            if (i + 1) % args.accumulate == 0:  #C
                optimizer.step()  #C
                optimizer.zero_grad()
                steps += 1
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.4f}")
    print("optimizer steps taken:", steps)


if __name__ == "__main__":
    main()
