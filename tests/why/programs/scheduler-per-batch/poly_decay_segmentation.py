# scheduler-per-batch, learning-rate-zero | scheduler, batch/epoch/step
# evidence: epochs that began with a zero rate: 5
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 6


class FCN(nn.Module):
    def __init__(self, classes=2):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(2, 8, 3, padding=1), nn.ReLU())
        self.ctx = nn.Sequential(nn.Conv2d(8, 8, 3, padding=2, dilation=2), nn.ReLU())
        self.cls = nn.Conv2d(8, classes, 1)

    def forward(self, x):
        h = self.enc(x)
        return self.cls(h + self.ctx(h))


def fields(n=60, size=8):
    x = torch.randn(n, 2, size, size)
    smooth = F.avg_pool2d(x, 3, stride=1, padding=1)
    y = (smooth[:, 0] > smooth[:, 1]).long()
    return TensorDataset(x, y)


def poly(epoch, power=0.9):
    return max(0.0, 1.0 - epoch / EPOCHS) ** power


def train_epoch(model, loader, optimizer, scheduler):
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()  #C
        total += loss.item()
    return total / len(loader)


def main():
    torch.manual_seed(58)
    loader = DataLoader(fields(), batch_size=6, shuffle=True)
    model = FCN()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9, weight_decay=1e-4)
    scheduler = LambdaLR(optimizer, lr_lambda=poly)
    starts = []
    for epoch in range(EPOCHS):
        starts.append(optimizer.param_groups[0]["lr"])
        loss = train_epoch(model, loader, optimizer, scheduler)
        print(f"epoch {epoch} loss {loss:.4f}")
    print("epochs that began with a zero rate:", sum(r == 0 for r in starts))


if __name__ == "__main__":
    main()
