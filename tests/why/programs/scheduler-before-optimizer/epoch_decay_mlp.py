# scheduler-before-optimizer | scheduler, optimizer.step/before/order
# evidence: first epoch ran at the base rate: False
import warnings

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore", category=UserWarning)

BASE_LR = 0.1


def build_model():
    return nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 3))


def toy_data(n=180):
    x = torch.randn(n, 8)
    teacher = torch.randn(8, 3)
    return TensorDataset(x, (x @ teacher).argmax(1))


def train_one_epoch(model, loader, optimizer, criterion):
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def main():
    torch.manual_seed(21)
    loader = DataLoader(toy_data(), batch_size=30, shuffle=True)
    model = build_model()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=BASE_LR, momentum=0.9)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)

    rates = []
    for epoch in range(5):
        scheduler.step()  #C
        rates.append(optimizer.param_groups[0]["lr"])
        loss = train_one_epoch(model, loader, optimizer, criterion)  #C
        print(f"epoch {epoch} lr {rates[-1]:.4f} loss {loss:.4f}")
    print("first epoch ran at the base rate:", abs(rates[0] - BASE_LR) < 1e-9)


if __name__ == "__main__":
    main()
