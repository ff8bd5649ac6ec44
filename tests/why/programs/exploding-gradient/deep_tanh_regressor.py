# exploding-gradient | gradient
# evidence: output layer changed by more than 1e-4: False
import argparse
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class DeepRegressor(nn.Module):
    def __init__(self, n_in=6, width=96, depth=24):
        super().__init__()
        self.inp = nn.Linear(n_in, width)
        self.hidden = nn.ModuleList([nn.Linear(width, width) for _ in range(depth)])
        self.out = nn.Linear(width, 1)
        self.reset()

    def reset(self):
        for layer in [self.inp, *self.hidden]:
            nn.init.normal_(layer.weight)  #C
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        h = torch.tanh(self.inp(x))
        for layer in self.hidden:
            h = torch.tanh(layer(h))  #C
        return self.out(h).squeeze(1)


def airfoil(n=256):
    x = torch.randn(n, 6)
    y = 1.0 + torch.sin(x[:, 0]) + 0.5 * x[:, 1] * x[:, 2]
    return TensorDataset(x, y)


def train_epoch(model, loader, optimizer, clip):
    loss_fn = nn.HuberLoss()
    total = 0.0
    for x, y in loader:
        loss = loss_fn(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--epochs", type=int, default=4)
    args = parser.parse_args([])
    torch.manual_seed(10)
    loader = DataLoader(airfoil(), batch_size=32, shuffle=True)
    model = DeepRegressor()
    start = model.out.weight.detach().clone()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        print(f"epoch {epoch} loss {train_epoch(model, loader, optimizer, args.clip):.4f}")
    change = (model.out.weight.detach() - start).abs().max().item()
    print("output layer changed by more than 1e-4:", change > 1e-4)


if __name__ == "__main__":
    main()
