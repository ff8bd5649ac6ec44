# class-ignored | class 0/class/background/road, ignore_index/ignored
# evidence: class 0 among labels: True, pixels of class 0 predicted correctly: 0
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

NAMES = ["road", "grass", "building"]


class TinyUNet(nn.Module):
    def __init__(self, n_classes=3, width=10):
        super().__init__()
        self.down1 = nn.Conv2d(3, width, 3, padding=1)
        self.down2 = nn.Conv2d(width, 2 * width, 3, padding=1)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.head = nn.Conv2d(2 * width, n_classes, 1)

    def forward(self, x):
        a = F.gelu(self.down1(x))
        b = F.gelu(self.down2(F.max_pool2d(a, 2)))
        c = self.up(b)
        return self.head(torch.cat([a, c], dim=1))


def make_scenes(n, size=8):
    """Each scene has a strip of road (0) between grass (1) and building (2)."""
    labels = torch.ones(n, size, size, dtype=torch.long)
    for i in range(n):
        top = int(torch.randint(1, size - 3, (1,)))
        labels[i, top:top + 3] = 0
        labels[i, top + 3:] = 2
    colours = torch.tensor([[0.2, 0.2, 0.2], [0.1, 0.9, 0.1], [0.8, 0.3, 0.3]])
    images = colours[labels].permute(0, 3, 1, 2) + 0.1 * torch.randn(n, 3, size, size)
    return TensorDataset(images, labels)


def train_one_epoch(model, loader, criterion, optimizer):
    model.train()
    total = 0.0
    for images, labels in loader:
        loss = criterion(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def per_class_hits(model, dataset):
    model.eval()
    images, labels = dataset.tensors
    pred = model(images).argmax(dim=1)
    return {name: int(((pred == k) & (labels == k)).sum()) for k, name in enumerate(NAMES)}


def main():
    torch.manual_seed(0)
    train_set, val_set = make_scenes(48), make_scenes(16)
    loader = DataLoader(train_set, batch_size=12, shuffle=True)
    model = TinyUNet()
    criterion = nn.CrossEntropyLoss(ignore_index=0)  #C
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(8):
        loss = train_one_epoch(model, loader, criterion, optimizer)
        if epoch % 2 == 1:
            print(f"epoch {epoch + 1}: loss {loss:.4f} hits {per_class_hits(model, val_set)}")
    hits = per_class_hits(model, val_set)
    present = bool((train_set.tensors[1] == 0).any())
    print(f"class 0 among labels: {present}, pixels of class 0 predicted correctly: {hits['road']}")


if __name__ == "__main__":
    main()
