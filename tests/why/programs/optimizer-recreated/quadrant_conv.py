# optimizer-recreated | optimizer, epoch/recreated/new/again
# evidence: steps remembered by adam after 24 steps: 2
from dataclasses import dataclass
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    lr: float = 8e-3
    epochs: int = 12
    batch_size: int = 32
    seed: int = 7


class SmallConvNet(nn.Module):
    def __init__(self, n_classes=4):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 3, padding=1), nn.GELU(), nn.MaxPool2d(2),
            nn.Conv2d(6, 12, 3, padding=1), nn.GELU(), nn.AdaptiveAvgPool2d(2),
        )
        self.classifier = nn.Linear(48, n_classes)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def make_digits(n):
    """Bright quadrant on a noisy background; the class is the quadrant."""
    y = torch.randint(0, 4, (n,))
    x = torch.randn(n, 1, 8, 8) * 0.3
    for i, k in enumerate(y.tolist()):
        r, c = (k // 2) * 4, (k % 2) * 4
        x[i, 0, r:r + 4, c:c + 4] += 1.0
    return TensorDataset(x, y)


def train_one_epoch(model, loader, criterion, cfg):
    model.train()
    optimizer = optim.Adam(model.parameters(), lr=cfg.lr, betas=(0.9, 0.999))  #C
    total = 0.0
    for images, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(labels)
    return total / len(loader.dataset), optimizer


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return hits / len(loader.dataset)


def main():
    cfg = Config()
    torch.manual_seed(cfg.seed)
    train_loader = DataLoader(make_digits(64), batch_size=cfg.batch_size, shuffle=True)
    val_loader = DataLoader(make_digits(32), batch_size=32)
    model = SmallConvNet()
    criterion = nn.CrossEntropyLoss()
    for epoch in range(cfg.epochs):
        loss, optimizer = train_one_epoch(model, train_loader, criterion, cfg)
        if epoch % 3 == 0:
            print(f"epoch {epoch}: loss {loss:.4f}, val acc {accuracy(model, val_loader):.2f}")
    state = optimizer.state[model.classifier.weight]
    print("steps remembered by adam after 24 steps:", int(state["step"]))


if __name__ == "__main__":
    main()
