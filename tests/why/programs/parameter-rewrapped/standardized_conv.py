# parameter-rewrapped | parameter
# evidence: convolution kernels changed: False
# parameters: c1.weight, c2.weight
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(70)


class WSConv2d(nn.Conv2d):
    """Convolution with weight standardization."""

    def forward(self, x):
        mean = self.weight.mean(dim=(1, 2, 3), keepdim=True)
        std = self.weight.std(dim=(1, 2, 3), keepdim=True)
        w = nn.Parameter((self.weight - mean) / (std + 1e-5))  #C
        fan_in = self.weight[0].numel()
        return F.conv2d(x, w / fan_in ** 0.5, self.bias, self.stride, self.padding)


class DigitNet(nn.Module):
    def __init__(self, classes=5):
        super().__init__()
        self.c1 = WSConv2d(1, 8, 3, padding=1)
        self.n1 = nn.GroupNorm(2, 8)
        self.c2 = WSConv2d(8, 16, 3, padding=1, stride=2)
        self.n2 = nn.GroupNorm(4, 16)
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        x = F.relu(self.n1(self.c1(x)))
        x = F.relu(self.n2(self.c2(x)))
        return self.fc(x.mean(dim=(2, 3)))


def glyphs(n=160, classes=5):
    shapes = (torch.rand(classes, 1, 8, 8) > 0.6).float()
    y = torch.randint(0, classes, (n,))
    return TensorDataset(shapes[y] + 0.3 * torch.randn(n, 1, 8, 8), y)


def train_one_epoch(model, loader, optimizer):
    total = 0.0
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    return total / len(loader.dataset)


def main():
    loader = DataLoader(glyphs(), batch_size=32, shuffle=True)
    model = DigitNet()
    k1, k2 = model.c1.weight.detach().clone(), model.c2.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(5):
        print(f"epoch {epoch} loss {train_one_epoch(model, loader, optimizer):.4f}")
    same = torch.equal(k1, model.c1.weight) and torch.equal(k2, model.c2.weight)
    print("convolution kernels changed:", not same)


if __name__ == "__main__":
    main()
