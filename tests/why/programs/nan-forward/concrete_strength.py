# nan-forward, input-degenerate | std/division/divide/divis/zero
# evidence: predictions finite: False
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(60)

COLUMNS = ["cement", "water", "slag", "age", "plant_id"]


def read_table(n=240):
    cement = 200 + 300 * torch.rand(n)
    water = 140 + 80 * torch.rand(n)
    slag = 150 * torch.rand(n)
    age = torch.randint(1, 90, (n,)).float()
    plant_id = torch.full((n,), 7.0)
    x = torch.stack([cement, water, slag, age, plant_id], dim=1)
    y = 0.08 * cement - 0.12 * water + 0.05 * slag + 4 * torch.log(age) + torch.randn(n)
    return x, y


class Standardizer:
    def fit(self, x):
        self.mean = x.mean(dim=0)
        self.std = x.std(dim=0)  #C
        return self

    def __call__(self, x):
        return (x - self.mean) / self.std  #C


class StrengthNet(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


def main():
    x, y = read_table()
    scaler = Standardizer().fit(x[:192])
    y_mean, y_std = y[:192].mean(), y[:192].std()
    train = TensorDataset(scaler(x[:192]), (y[:192] - y_mean) / y_std)
    loader = DataLoader(train, batch_size=32, shuffle=True)
    model = StrengthNet(len(COLUMNS))
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    loss_fn = nn.MSELoss()
    for epoch in range(6):
        total = 0.0
        for xb, yb in loader:
            loss = loss_fn(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"epoch {epoch} mse {total / len(loader):.4f}")
    model.eval()
    with torch.no_grad():
        pred = model(scaler(x[192:]))
    print("predictions finite:", bool(torch.isfinite(pred).all()))


if __name__ == "__main__":
    main()
