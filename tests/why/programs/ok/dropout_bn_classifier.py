# ok
# evidence: train mode at every step: True, evaluation repeatable: True, val accuracy above 0.7: True
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, d, h, c):
        super().__init__()
        self.fc1, self.bn1 = nn.Linear(d, h, bias=False), nn.BatchNorm1d(h)
        self.fc2, self.bn2 = nn.Linear(h, h, bias=False), nn.BatchNorm1d(h)
        self.drop = nn.Dropout(0.3)
        self.out = nn.Linear(h, c)

    def forward(self, x):
        x = self.drop(torch.relu(self.bn1(self.fc1(x))))
        x = self.drop(torch.relu(self.bn2(self.fc2(x))))
        return self.out(x)


def train_one_epoch(model, loader, optimizer, criterion, modes):
    model.train()
    total = 0.0
    for x, y in loader:
        modes.append(model.training and model.drop.training)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def evaluate(model, loader, criterion):
    model.eval()
    loss, correct, n = 0.0, 0, 0
    for x, y in loader:
        logits = model(x)
        loss += criterion(logits, y).item() * len(y)
        correct += (logits.argmax(1) == y).sum().item()
        n += len(y)
    return loss / n, correct / n


def main():
    torch.manual_seed(0)
    centers = 1.3 * torch.randn(4, 10)
    y = torch.randint(0, 4, (320,))
    x = centers[y] + torch.randn(320, 10)
    train = DataLoader(TensorDataset(x[:256], y[:256]), batch_size=32, shuffle=True, drop_last=True)
    val = DataLoader(TensorDataset(x[256:], y[256:]), batch_size=32)
    model = Net(10, 32, 4)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    modes = []
    for epoch in range(6):
        tr = train_one_epoch(model, train, optimizer, criterion, modes)
        vl, acc = evaluate(model, val, criterion)
        print(f"epoch {epoch}: train {tr:.3f} val {vl:.3f} acc {acc:.3f}")
    repeat = evaluate(model, val, criterion) == evaluate(model, val, criterion)
    print(f"train mode at every step: {all(modes)}, evaluation repeatable: {repeat}, "
          f"val accuracy above 0.7: {acc > 0.7}")


if __name__ == "__main__":
    main()
