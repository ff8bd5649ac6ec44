# dropout-all, zero-factor, output-constant | dropout, 1.0/p=1/all/everything/every/layer
# evidence: first LSTM layer unchanged by training: True
# parameters: lstm.weight_ih_l0, lstm.weight_hh_l0, lstm.bias_ih_l0, lstm.bias_hh_l0, lstm.weight_ih_l1
import argparse
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    parser = argparse.ArgumentParser(description="fault detection from engine vibrations")
    parser.add_argument("--hidden", type=int, default=16)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--dropout", type=float, default=1.0)  #C
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--epochs", type=int, default=8)
    return parser.parse_args()


class FaultLSTM(nn.Module):
    def __init__(self, hidden, layers, dropout):
        super().__init__()
        self.lstm = nn.LSTM(2, hidden, num_layers=layers, dropout=dropout, batch_first=True)  #C
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        _, (h, _) = self.lstm(x)
        return self.out(h[-1]).squeeze(1)


def make_vibrations(n, steps=10):
    faulty = torch.randint(0, 2, (n,)).float()
    t = torch.arange(steps).float()
    base = torch.sin(0.8 * t + torch.rand(n, 1) * 6.28)
    level = 0.4 + 1.2 * faulty.unsqueeze(1)
    x = torch.stack([base * level, level + 0.3 * torch.randn(n, steps)], dim=2)
    return TensorDataset(x, faulty)


def train_one_epoch(model, loader, optimizer, criterion):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def main():
    args = get_args()
    torch.manual_seed(0)
    loader = DataLoader(make_vibrations(96), batch_size=24, shuffle=True)
    model = FaultLSTM(args.hidden, args.layers, args.dropout)
    first = {n: p.detach().clone() for n, p in model.named_parameters() if n.endswith("_l0")}
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(args.epochs):
        loss = train_one_epoch(model, loader, optimizer, criterion)
        print(f"epoch {epoch}: loss {loss:.4f}")
    now = dict(model.named_parameters())
    print("first LSTM layer unchanged by training:", all(torch.equal(now[n], p) for n, p in first.items()))


if __name__ == "__main__":
    main()
