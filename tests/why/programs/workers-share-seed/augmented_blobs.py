# workers-share-seed
# evidence: done
"""Image-like classification with random augmentation done in DataLoader workers."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class AugmentedBlobs(Dataset):
    """Blob images with random shift, flip and pixel noise."""

    def __init__(self, n, seed, augment):
        base = np.random.default_rng(1000 + seed)
        self.labels = base.integers(0, 5, n)
        protos = np.random.default_rng(5).normal(size=(5, 12, 12)).astype(np.float32)
        self.images = protos[self.labels] + 0.5 * base.normal(size=(n, 12, 12)).astype(np.float32)
        self.augment = augment
        self.rng = np.random.default_rng(seed)  #C

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        img = self.images[i]
        if self.augment:
            dy, dx = self.rng.integers(-2, 3, size=2)  #C
            img = np.roll(img, (dy, dx), axis=(0, 1))
            if self.rng.random() < 0.5:
                img = img[:, ::-1]
            img = img + self.rng.normal(scale=0.3, size=img.shape).astype(np.float32)
        return torch.from_numpy(np.ascontiguousarray(img, dtype=np.float32))[None], int(self.labels[i])


class SmallCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 9, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


def train_epoch(model, loader, optimizer):
    model.train()
    total = 0.0
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return hits / len(loader.dataset)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=4)
    args = parser.parse_args()
    torch.manual_seed(0)
    train_loader = DataLoader(AugmentedBlobs(384, 0, augment=True), batch_size=32, shuffle=True, num_workers=args.workers)
    val_loader = DataLoader(AugmentedBlobs(200, 1, augment=False), batch_size=100)
    model = SmallCNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(args.epochs):
        loss = train_epoch(model, train_loader, optimizer)
        print(f"epoch {epoch}: loss {loss:.4f} val acc {accuracy(model, val_loader):.3f}")


if __name__ == "__main__":
    main()
print("evidence: done")
