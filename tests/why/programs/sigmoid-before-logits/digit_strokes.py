# sigmoid-before-logits, wrong-loss-input, diverged | logit/log_softmax/log-softmax/logsoftmax/log-probabilities, nll
# evidence: training loss went below zero: True
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split


class StrokeNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3)
        self.conv2 = nn.Conv2d(6, 10, 3)
        self.drop = nn.Dropout(0.1)
        self.fc = nn.Linear(10 * 4, classes)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(self.drop(x.flatten(1)))  #C


def strokes(n=160, size=8):
    y = torch.randint(0, 4, (n,))
    x = 0.15 * torch.randn(n, 1, size, size)
    for i, c in enumerate(y.tolist()):
        x[i, 0, 2 * c] += 1.0
    return TensorDataset(x, y)


def train(model, loader, optimizer, epoch):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        output = model(x)
        loss = F.nll_loss(output, y)  #C
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"Train epoch {epoch} loss {total / len(loader):.4f}")
    return total / len(loader)


def test(model, loader):
    model.eval()
    hits = 0
    with torch.no_grad():
        for x, y in loader:
            hits += model(x).argmax(1).eq(y).sum().item()
    print(f"Test accuracy {hits / len(loader.dataset):.2f}")


def main():
    torch.manual_seed(1)
    train_set, test_set = random_split(strokes(), [120, 40])
    train_loader = DataLoader(train_set, batch_size=20, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=20)
    model = StrokeNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(1, 6):
        loss = train(model, train_loader, optimizer, epoch)
        test(model, test_loader)
    print("training loss went below zero:", loss < 0)


if __name__ == "__main__":
    main()
