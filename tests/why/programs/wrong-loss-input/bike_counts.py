# wrong-loss-input | poisson, log/exp
# evidence: mean predicted count near the mean count: False
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class CountModel(nn.Module):
    """Expected number of bikes rented in an hour."""

    def __init__(self, n_in=5):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 24), nn.ReLU(), nn.Linear(24, 1))

    def forward(self, x):
        return torch.exp(self.net(x)).squeeze(-1)  #C


def rentals(n=400):
    x = torch.randn(n, 5)
    rate = torch.exp(1.8 + 0.4 * x[:, 0] - 0.3 * x[:, 1])
    return x, torch.poisson(rate)


def fit(model, loader, epochs, lr=1e-2):
    criterion = nn.PoissonNLLLoss()  #C
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    for epoch in range(epochs):
        total = 0.0
        for x, count in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), count)  #C
            loss.backward()
            optimizer.step()
            total += loss.item() * len(x)
        scheduler.step()
        print(f"epoch {epoch} nll {total / len(loader.dataset):.4f}")


def main():
    torch.manual_seed(38)
    x, count = rentals()
    model = CountModel()
    fit(model, DataLoader(TensorDataset(x, count), batch_size=40, shuffle=True), epochs=10)
    with torch.no_grad():
        ratio = (model(x).mean() / count.mean()).item()
    print("mean predicted count near the mean count:", 0.7 < ratio < 1.3)


if __name__ == "__main__":
    main()
