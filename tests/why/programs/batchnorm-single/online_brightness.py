# batchnorm-single | batchnorm/batch norm/bn, size 1/single/one sample/batch of 1/batch size/batch_size
# evidence: training accuracy above 0.75: False
# parameters: bn.weight, bn.bias, conv.weight
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class BrightnessNet(nn.Module):
    """Day or night from a small grey image."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3, bias=False)
        self.bn = nn.BatchNorm2d(6)  #C
        self.fc = nn.Linear(6, 2)

    def forward(self, x):
        h = F.relu(self.bn(self.conv(x)))  #C
        return self.fc(h.mean(dim=(2, 3)))


def camera(n=120, size=7):
    night = torch.randint(0, 2, (n,))
    img = torch.where(night.bool(), -1.0, 1.0).view(n, 1, 1, 1) + 0.5 * torch.randn(n, 1, size, size)
    return TensorDataset(img, night)


def train_epoch(model, loader, optimizer):
    model.train()
    total, hits = 0.0, 0
    for img, night in loader:
        logits = model(img)
        loss = F.cross_entropy(logits, night)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        hits += (logits.argmax(1) == night).sum().item()
    return total / len(loader), hits / len(loader.dataset)


def main():
    torch.manual_seed(16)
    loader = DataLoader(camera(), batch_size=1, shuffle=True)  #C
    model = BrightnessNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.5)
    for epoch in range(3):
        loss, acc = train_epoch(model, loader, optimizer)
        print(f"epoch {epoch} loss {loss:.4f} acc {acc:.2f}")
    print("training accuracy above 0.75:", acc > 0.75)


if __name__ == "__main__":
    main()
