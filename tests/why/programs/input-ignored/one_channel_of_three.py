# input-ignored
# evidence: blue counts: False
import torch
import torch.nn as nn
import torch.nn.functional as F


class Tiles(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, padding=1)
        self.body = nn.Sequential(nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(16, classes)

    def forward(self, images):
        grey = images[:, :1]  #C
        return self.head(self.body(self.stem(grey)))


def coloured(n):
    y = torch.randint(0, 3, (n,))
    images = 0.3 * torch.randn(n, 3, 10, 10)
    images[torch.arange(n), y] += 1.0
    return images, y


def main():
    torch.manual_seed(0)
    model = Tiles()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(60):
        x, y = coloured(24)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    x, _ = coloured(5)
    other = x.clone()
    other[:, 2] = 0
    print("evidence: blue counts:", not torch.equal(model(x), model(other)))


main()
