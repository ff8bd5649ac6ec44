# train-in-validation | eval
# evidence: train mode while validating: True
import os
import tempfile

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class VibrationNet(nn.Module):
    def __init__(self, classes=2):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, 8, 5, padding=2), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.MaxPool1d(4))
        self.classifier = nn.Linear(8 * 6, classes)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def machines(n):
    y = torch.randint(0, 2, (n,))
    t = torch.arange(24, dtype=torch.float32)
    x = torch.sin((0.5 + 0.7 * y.float()).unsqueeze(1) * t) + 0.5 * torch.randn(n, 24)
    return TensorDataset(x.unsqueeze(1), y)


def train_one_epoch(model, loader, criterion, optimizer):
    model.train()
    running = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item()
    return running / len(loader)


def validate(model, loader, criterion):
    model.eval  #C
    losses, modes = [], set()
    with torch.no_grad():
        for x, y in loader:
            losses.append(criterion(model(x), y).item())  #C
            modes.add(model.training)
    return sum(losses) / len(losses), True in modes


def main():
    torch.manual_seed(29)
    train_loader = DataLoader(machines(128), batch_size=16, shuffle=True)
    val_loader = DataLoader(machines(32), batch_size=16)
    model = VibrationNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    best = float("inf")
    with tempfile.TemporaryDirectory() as folder:
        for epoch in range(4):
            train_loss = train_one_epoch(model, train_loader, criterion, optimizer)
            val_loss, in_train_mode = validate(model, val_loader, criterion)
            if val_loss < best:
                best = val_loss
                torch.save(model.state_dict(), os.path.join(folder, "best.pt"))
            print(f"epoch {epoch} train {train_loss:.4f} val {val_loss:.4f}")
    print("train mode while validating:", in_train_mode)


if __name__ == "__main__":
    main()
