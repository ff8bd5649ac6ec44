# loss-scaled-twice, update-too-small | mean/batch_size/batch size/divided/divid/len(x)
# evidence: loss fell by a third: False
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

BATCH_SIZE = 64


class QualityNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(11, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def wines(n=512):
    x = torch.randn(n, 11)
    quality = 1.5 * x[:, 0] - x[:, 3] + 0.5 * x[:, 7]
    return TensorDataset(x, quality)


def train_epoch(model, loader, criterion, optimizer):
    epoch_loss = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        pred = model(x)
        loss = criterion(pred, y) / BATCH_SIZE  #C
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    return epoch_loss / len(loader)


def main():
    torch.manual_seed(9)
    loader = DataLoader(wines(), batch_size=BATCH_SIZE, shuffle=True, drop_last=True)
    model = QualityNet()
    criterion = nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    losses = []
    for epoch in range(6):
        losses.append(train_epoch(model, loader, criterion, optimizer))
        print(f"epoch {epoch}: {losses[-1]:.5f}")
    print("loss fell by a third:", losses[-1] < losses[0] * 2 / 3)


if __name__ == "__main__":
    main()
