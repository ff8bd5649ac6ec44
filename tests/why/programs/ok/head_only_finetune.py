# ok
# evidence: backbone unchanged: True, running statistics unchanged: True, accuracy above 0.6: True
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 12, 3, padding=1, bias=False), nn.BatchNorm2d(12), nn.ReLU(),
            nn.Conv2d(12, 24, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(24), nn.ReLU(),
            nn.AdaptiveAvgPool2d(2), nn.Flatten())

    def forward(self, x):
        return self.net(x)


class FineTuner(nn.Module):
    def __init__(self, backbone, classes):
        super().__init__()
        self.backbone = backbone
        for p in self.backbone.parameters():
            p.requires_grad = False
        self.head = nn.Linear(96, classes)

    def train(self, mode=True):
        super().train(mode)
        self.backbone.eval()          # frozen features use their stored statistics
        return self

    def forward(self, x):
        with torch.no_grad():
            feats = self.backbone(x)
        return self.head(feats)


def pretrain(backbone, steps=12):
    """Stands for the download of trained weights: two kinds of texture."""
    net = nn.Sequential(backbone, nn.Linear(96, 2))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(steps):
        y = torch.randint(0, 2, (32,))
        x = torch.randn(32, 3, 8, 8)
        x[y == 1, :, ::2] += 1.0
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
    print(f"pretraining loss {loss.item():.3f}")
    return backbone


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    hits = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    return hits / len(loader.dataset)


def main():
    torch.manual_seed(0)
    proto = torch.randn(4, 3, 8, 8)
    y = torch.randint(0, 4, (240,))
    x = proto[y] + 0.7 * torch.randn(240, 3, 8, 8)
    train_set, val_set = random_split(TensorDataset(x, y), [192, 48])
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=48)

    model = FineTuner(pretrain(Backbone()), classes=4)
    snapshot = {k: v.clone() for k, v in model.backbone.state_dict().items()}
    optimizer = torch.optim.Adam(model.head.parameters(), lr=2e-2)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(6):
        model.train()
        running = 0.0
        for xb, yb in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(xb), yb)
            loss.backward()
            optimizer.step()
            running += loss.item()
        print(f"epoch {epoch}: loss {running / len(train_loader):.3f} val acc {accuracy(model, val_loader):.3f}")

    after = model.backbone.state_dict()
    params_same = all(torch.equal(snapshot[n], after[n]) for n, _ in model.backbone.named_parameters())
    stats_same = all(torch.equal(snapshot[k], after[k]) for k in snapshot if "running" in k)
    print(f"backbone unchanged: {params_same}, running statistics unchanged: {stats_same}, "
          f"accuracy above 0.6: {accuracy(model, val_loader) > 0.6}")


if __name__ == "__main__":
    main()
