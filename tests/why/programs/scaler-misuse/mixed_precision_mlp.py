# scaler-misuse, clip-too-tight, clip-misplaced | scale, clip
# evidence: loss fell by a third: False
import torch
import torch.nn as nn
from torch.amp import GradScaler, autocast
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, n_in=10, classes=4):
        super().__init__()
        self.fc1 = nn.Linear(n_in, 40)
        self.fc2 = nn.Linear(40, classes)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


def clusters(n=320, classes=4):
    y = torch.randint(0, classes, (n,))
    x = 2.5 * torch.eye(10)[y] + 0.7 * torch.randn(n, 10)
    return TensorDataset(x, y)


def train_epoch(model, loader, optimizer, scaler, criterion, max_norm=1.0):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad(set_to_none=True)
        with autocast("cpu", dtype=torch.bfloat16):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()  #C
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)  #C
        scaler.step(optimizer)  #C
        scaler.update()
        total += loss.item()
    return total / len(loader)


def main():
    torch.manual_seed(12)
    loader = DataLoader(clusters(), batch_size=32, shuffle=True)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = GradScaler("cpu", init_scale=2.0 ** 16)
    criterion = nn.CrossEntropyLoss()
    losses = []
    for epoch in range(4):
        losses.append(train_epoch(model, loader, optimizer, scaler, criterion))
        print(f"epoch {epoch} loss {losses[-1]:.4f}")
    print("loss fell by a third:", losses[-1] < losses[0] * 2 / 3)


if __name__ == "__main__":
    main()
