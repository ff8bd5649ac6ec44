# output-constant, zero-local-derivative, zero-factor | layernorm/norm, constant/one/same/single/1/zero
# evidence: predictions all equal: True
# parameters: features.0.weight, features.0.bias, features.2.weight, features.2.bias, reduce.weight, reduce.bias
import argparse
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class DurationModel(nn.Module):
    def __init__(self, n_in, hidden):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(n_in, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU())
        self.reduce = nn.Linear(hidden, 1)
        self.norm = nn.LayerNorm(1)  #C

    def forward(self, x):
        return self.norm(self.reduce(self.features(x))).squeeze(-1)  #C


def make_rides(n):
    distance = torch.rand(n) * 2 - 1
    hour = torch.rand(n) * 2 - 1
    rain = torch.randint(0, 2, (n,)).float()
    minutes = 1.5 * distance + 0.8 * (1 - hour.abs()) + 0.3 * rain + 0.05 * torch.randn(n)
    return TensorDataset(torch.stack([distance, hour, rain], dim=1), minutes)


def train_one_epoch(model, loader, optimizer, loss_fn):
    model.train()
    total = 0.0
    for x, y in loader:
        loss = loss_fn(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
    return total / len(loader.dataset)


@torch.no_grad()
def predict(model, loader):
    model.eval()
    return torch.cat([model(x) for x, _ in loader])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden", type=int, default=24)
    parser.add_argument("--lr", type=float, default=5e-2)
    parser.add_argument("--epochs", type=int, default=8)
    args = parser.parse_args()
    torch.manual_seed(0)
    train_loader = DataLoader(make_rides(160), batch_size=32, shuffle=True)
    val_loader = DataLoader(make_rides(50), batch_size=25)
    model = DurationModel(3, args.hidden)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    loss_fn = nn.SmoothL1Loss()
    for epoch in range(args.epochs):
        loss = train_one_epoch(model, train_loader, optimizer, loss_fn)
        print(f"epoch {epoch}: smooth l1 {loss:.4f}")
    pred = predict(model, val_loader)
    print("predictions all equal:", bool((pred - pred[0]).abs().max() < 1e-3))


if __name__ == "__main__":
    main()
