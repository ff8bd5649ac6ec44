# input-ignored
# evidence: the first column counts: False
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class HousePrices(nn.Module):
    def __init__(self, numbers=5, kinds=3):
        super().__init__()
        self.numbers = numbers
        self.wide = nn.Linear(kinds, 8)
        self.deep = nn.Sequential(nn.Linear(numbers, 24), nn.ReLU(), nn.Linear(24, 8))
        self.head = nn.Linear(16, 1)

    def forward(self, x):
        numbers = x[:, 1:self.numbers + 1]  #C
        kinds = x[:, -3:]
        return self.head(torch.cat([self.deep(numbers), self.wide(kinds)], 1)).squeeze(1)


def main():
    torch.manual_seed(0)
    x = torch.cat([torch.randn(600, 5), torch.eye(3)[torch.randint(0, 3, (600,))]], 1)
    y = 3 * x[:, 0] + x[:, 1] * x[:, 2] + x[:, 6]
    loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)
    model, criterion = HousePrices(), nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(8):
        for xb, yb in loader:
            loss = criterion(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} loss {loss.item():.3f}")
    other = x.clone()
    other[:, 0] = 0
    with torch.no_grad():
        print("evidence: the first column counts:", not torch.equal(model(x), model(other)))


if __name__ == "__main__":
    main()
