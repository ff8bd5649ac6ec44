# frozen-decayed
# evidence: done
"""Frozen-backbone fine-tuning; the old head must keep working afterwards."""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def backbone():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten())


class TwoHeadNet(nn.Module):
    def __init__(self, old_classes, new_classes):
        super().__init__()
        self.backbone = backbone()
        self.old_head = nn.Linear(64, old_classes)
        self.new_head = nn.Linear(64, new_classes)

    def forward(self, x, task):
        f = self.backbone(x)  #C
        return self.old_head(f) if task == "old" else self.new_head(f)


def images(n, protos, shift=0.0, scale=1.0):
    y = torch.randint(0, len(protos), (n,))
    x = protos[y] + 0.4 * torch.randn(n, 1, 10, 10)
    return TensorDataset(x * scale + shift, y)


def train(model, loader, optimizer, task, epochs):
    for epoch in range(epochs):
        model.train()  #C
        total = 0.0
        for x, y in loader:
            loss = F.cross_entropy(model(x, task), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"[{task}] epoch {epoch} loss {total / len(loader):.4f}")


@torch.no_grad()
def validate(model, loader, task):
    model.eval()
    hit = sum((model(x, task).argmax(1) == y).sum().item() for x, y in loader)
    return hit / len(loader.dataset)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=4)
    ap.add_argument("--lr", type=float, default=3e-3)
    args = ap.parse_args()
    torch.manual_seed(0)
    old_protos, new_protos = torch.randn(5, 1, 10, 10), torch.randn(3, 1, 10, 10)
    old_train = DataLoader(images(480, old_protos), batch_size=32, shuffle=True)
    old_val = DataLoader(images(200, old_protos), batch_size=100)
    new_train = DataLoader(images(320, new_protos, 2.0, 2.5), batch_size=32, shuffle=True)

    model = TwoHeadNet(5, 3)
    train(model, old_train, torch.optim.Adam(model.parameters(), lr=args.lr), "old", args.epochs)
    print(f"old task accuracy before {validate(model, old_val, 'old'):.3f}")

    for p in model.backbone.parameters():  #C
        p.requires_grad = False  #C
    optimizer = torch.optim.Adam(model.new_head.parameters(), lr=args.lr)
    train(model, new_train, optimizer, "new", args.epochs)
    print(f"old task accuracy after {validate(model, old_val, 'old'):.3f}")


if __name__ == "__main__":
    main()
print("evidence: done")
