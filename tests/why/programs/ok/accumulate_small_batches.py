# ok
# evidence: optimizer steps: 16, same as large batch: True, loss went down: True
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

ACCUM = 4


def make_model():
    return nn.Sequential(nn.Linear(7, 20), nn.Tanh(), nn.Linear(20, 1))


def train(model, loader, epochs, accum):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion = nn.MSELoss()
    steps, history = 0, []
    for epoch in range(epochs):
        optimizer.zero_grad()
        total = 0.0
        for i, (x, y) in enumerate(loader):
            loss = criterion(model(x), y)
            (loss / accum).backward()
            total += loss.item()
            if (i + 1) % accum == 0:
                optimizer.step()
                optimizer.zero_grad()
                steps += 1
        history.append(total / len(loader))
        print(f"accum={accum} epoch {epoch}: {history[-1]:.4f}")
    return steps, history


def main():
    torch.manual_seed(1)
    x = torch.randn(128, 7)
    y = (x[:, :2].sum(1, keepdim=True) - x[:, 3:4]).tanh()
    data = TensorDataset(x, y)
    small, large = make_model(), None
    large = copy.deepcopy(small)
    steps, history = train(small, DataLoader(data, batch_size=8), epochs=4, accum=ACCUM)
    train(large, DataLoader(data, batch_size=8 * ACCUM), epochs=4, accum=1)
    same = all(torch.allclose(a, b, atol=1e-4) for a, b in zip(small.parameters(), large.parameters()))
    print(f"optimizer steps: {steps}, same as large batch: {same}, loss went down: {history[-1] < history[0]}")


if __name__ == "__main__":
    main()
