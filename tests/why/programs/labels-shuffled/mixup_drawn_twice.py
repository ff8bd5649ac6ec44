# labels-shuffled
# evidence: done
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class BasicBlock(nn.Module):
    def __init__(self, c_in, c_out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(c_in, c_out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(c_out)
        self.conv2 = nn.Conv2d(c_out, c_out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(c_out)
        self.shortcut = nn.Sequential()
        if stride != 1 or c_in != c_out:
            self.shortcut = nn.Sequential(nn.Conv2d(c_in, c_out, 1, stride, bias=False), nn.BatchNorm2d(c_out))

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(out)) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, num_classes, width=8):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        self.layer1 = BasicBlock(width, width, 1)
        self.layer2 = BasicBlock(width, 2 * width, 2)
        self.fc = nn.Linear(2 * width, num_classes)

    def forward(self, x):
        x = self.layer2(self.layer1(self.stem(x)))
        return self.fc(x.mean((2, 3)))


def one_hot(y, num_classes, smoothing):
    off = smoothing / num_classes
    return torch.full((y.size(0), num_classes), off).scatter_(1, y.unsqueeze(1), 1.0 - smoothing + off)


class Mixup:
    def __init__(self, alpha, num_classes, smoothing=0.1, seed=0):
        self.alpha, self.num_classes, self.smoothing = alpha, num_classes, smoothing
        self.rng = np.random.default_rng(seed)

    def mix_images(self, x, lam):
        index = torch.randperm(x.size(0))  #C
        return lam * x + (1.0 - lam) * x[index]  #C

    def mix_target(self, y, lam):
        index = torch.randperm(y.size(0))  #C
        y1 = one_hot(y, self.num_classes, self.smoothing)
        y2 = one_hot(y[index], self.num_classes, self.smoothing)  #C
        return lam * y1 + (1.0 - lam) * y2

    def __call__(self, x, y):
        lam = self.rng.beta(self.alpha, self.alpha)
        return self.mix_images(x, lam), self.mix_target(y, lam)  #C


def soft_target_cross_entropy(logits, target):
    return -(target * F.log_softmax(logits, dim=-1)).sum(-1).mean()


def make_data(n, num_classes=6, seed=0):
    g = torch.Generator().manual_seed(42)
    templates = torch.randn(num_classes, 3, 1, 1, generator=g) + 0.5 * torch.randn(num_classes, 3, 8, 8, generator=g)
    g.manual_seed(seed)
    y = torch.randint(0, num_classes, (n,), generator=g)
    return TensorDataset(templates[y] + 0.5 * torch.randn(n, 3, 8, 8, generator=g), y)


@torch.no_grad()
def validate(model, loader):
    model.eval()
    loss = correct = n = 0
    for x, y in loader:
        logits = model(x)
        loss += F.cross_entropy(logits, y, reduction="sum").item()
        correct += (logits.argmax(1) == y).sum().item()
        n += len(y)
    return loss / n, correct / n


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(make_data(512, seed=1), batch_size=64, shuffle=True, drop_last=True)
    val_loader = DataLoader(make_data(256, seed=2), batch_size=128)
    model = ResNet(num_classes=6)
    mixup = Mixup(alpha=1.0, num_classes=6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4, nesterov=True)
    epochs = 8
    for epoch in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = 0.05 * (1 + math.cos(math.pi * epoch / epochs))
        model.train()
        running = 0.0
        for x, y in train_loader:
            x, target = mixup(x, y)
            loss = soft_target_cross_entropy(model(x), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        val_loss, acc = validate(model, val_loader)
        print(f"epoch {epoch} train {running / len(train_loader):.4f} val {val_loss:.4f} acc {acc:.3f}")


if __name__ == "__main__":
    main()
print("evidence: done")
