# validation-trained
# evidence: validated samples that were trained on: 160 of 160
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split


def accuracy(model, loader):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for x, y in loader:
            right += (model(x).argmax(1) == y).sum().item()  #C
            total += len(y)
    model.train()
    return right / total


def main():
    torch.manual_seed(0)
    x = torch.randn(200, 12)
    y = (x[:, 0] * x[:, 1] > 0).long()
    train_set, val_set = random_split(TensorDataset(x, y), [160, 40])
    train_loader = DataLoader(train_set, batch_size=20, shuffle=True)
    val_loader = DataLoader(train_set, batch_size=40)
    model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(6):
        for xb, yb in train_loader:
            loss = F.cross_entropy(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} validation accuracy {accuracy(model, val_loader):.2f}")  #C
    trained = {tuple(row.tolist()) for row, _ in train_set}
    seen = [row for batch, _ in val_loader for row in batch]
    print(f"evidence: validated samples that were trained on: {sum(tuple(r.tolist()) in trained for r in seen)} of {len(seen)}")


main()
