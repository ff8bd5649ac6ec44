# copy-not-updated
# evidence: done
# Small conv net evaluated with an exponential moving average of the weights.
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class WeightEMA:
    def __init__(self, model, decay=0.97):
        self.decay = decay
        self.module = copy.deepcopy(model).eval()
        for p in self.module.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):  #C
        for e, p in zip(self.module.parameters(), model.parameters()):  #C
            e.mul_(self.decay).add_(p, alpha=1 - self.decay)  #C


def conv_bn(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU())


class Net(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.stem = conv_bn(3, 8)
        self.stage = nn.Sequential(nn.MaxPool2d(2), conv_bn(8, 16))
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        return self.fc(self.stage(self.stem(x)).mean(dim=(2, 3)))


def dataset(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    x = torch.randn(n, 3, 8, 8, generator=g) * 12 + 40
    for c in range(3):
        x[:, c] += ((y == c).float() * 14)[:, None, None]
    return TensorDataset(x, y)


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    return sum((model(x).argmax(1) == y).sum().item() for x, y in loader) / len(loader.dataset)


def main():
    torch.manual_seed(0)
    train = DataLoader(dataset(1000, 1), batch_size=50, shuffle=True)
    test = DataLoader(dataset(400, 2), batch_size=200)
    model = Net()
    ema = WeightEMA(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    for epoch in range(2):
        model.train()
        total = 0.0
        for x, y in train:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            ema.update(model)
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(train):.4f} acc {accuracy(model, test):.3f} "
              f"ema acc {accuracy(ema.module, test):.3f}")


if __name__ == "__main__":
    main()
print("evidence: done")
