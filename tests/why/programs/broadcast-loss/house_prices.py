# broadcast-loss | broadcast/shape
# evidence: predictions explain the targets: False
import warnings

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")


class PriceNet(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.fc1 = nn.Linear(n_in, 32)
        self.fc2 = nn.Linear(32, 16)
        self.out = nn.Linear(16, 1)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.out(x)  #C


def houses(n=240):
    x = torch.rand(n, 5)
    price = 3.0 * x[:, 0] + 2.0 * x[:, 1] * x[:, 2] - 1.0 * x[:, 3]
    price = (price - price.mean()) / price.std()
    return x, price


def main():
    torch.manual_seed(5)
    x, price = houses()
    loader = DataLoader(TensorDataset(x[:200], price[:200]), batch_size=20, shuffle=True)
    model = PriceNet(5)
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(10):
        total = 0.0
        for features, target in loader:
            optimizer.zero_grad()
            loss = criterion(model(features), target)  #C
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch:2d}  mse {total / len(loader):.4f}")

    with torch.no_grad():
        pred = model(x[200:]).flatten()
    residual = (pred - price[200:]).pow(2).mean()
    print("predictions explain the targets:", bool(residual < 0.5 * price[200:].var()))


if __name__ == "__main__":
    main()
