# not-in-optimizer, leaf-replaced | optimizer
# evidence: new classifier trained: False
# parameters: fc.weight, fc.bias
import os
import tempfile
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)


class ConvNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )
        self.fc = nn.Linear(16, n_classes)

    def forward(self, x):
        return self.fc(self.conv(x))


def stripes(n, n_classes):
    y = torch.randint(0, n_classes, (n,))
    cols = torch.arange(8)
    x = 0.2 * torch.randn(n, 1, 8, 8)
    for i, c in enumerate(y.tolist()):
        x[i, 0] += (1.0 + 0.5 * c) * ((cols % (c + 2)) == 0).float()
    return DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)


def train_epoch(model, loader, opt):
    total, correct = 0.0, 0
    for x, y in loader:
        out = model(x)
        loss = F.cross_entropy(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(y)
        correct += (out.argmax(1) == y).sum().item()
    n = len(loader.dataset)
    return total / n, correct / n


def pretrain(path):
    model = ConvNet(2)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    loader = stripes(96, 2)
    for _ in range(2):
        train_epoch(model, loader, opt)
    torch.save(model.state_dict(), path)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "pretrained.pt")
        pretrain(path)
        model = ConvNet(2)
        model.load_state_dict(torch.load(path))
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)  #C
    model.fc = nn.Linear(model.fc.in_features, 4)  #C
    first = model.fc.weight.detach().clone()
    loader = stripes(160, 4)
    for epoch in range(8):
        loss, acc = train_epoch(model, loader, opt)
        print(f"finetune epoch {epoch} loss {loss:.3f} acc {acc:.3f}")
    print("new classifier trained:", not torch.equal(first, model.fc.weight))


if __name__ == "__main__":
    main()
