# ok
# evidence: stats moved before epoch 4: True, stats fixed after: True, val loss went down: True
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FREEZE_FROM = 4


def build():
    return nn.Sequential(nn.Linear(8, 32, bias=False), nn.BatchNorm1d(32), nn.ReLU(),
                         nn.Linear(32, 32, bias=False), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 1))


def bn_layers(model):
    return [m for m in model if isinstance(m, nn.BatchNorm1d)]


def stats(model):
    return torch.cat([m.running_mean for m in bn_layers(model)]).clone()


def train_epoch(model, loader, opt, freeze_stats):
    model.train()
    if freeze_stats:              # last epochs use the accumulated statistics, as at deployment
        for m in bn_layers(model):
            m.eval()
    for x, y in loader:
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x).squeeze(1), y)
        loss.backward()
        opt.step()


@torch.no_grad()
def validate(model, x, y):
    model.eval()
    return nn.functional.mse_loss(model(x).squeeze(1), y).item()


def main():
    torch.manual_seed(2)
    w = torch.randn(8)
    x = torch.randn(256, 8)
    y = torch.tanh(x @ w) + 0.5 * x[:, 0]
    loader = DataLoader(TensorDataset(x[:192], y[:192]), batch_size=32, shuffle=True)
    model = build()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    first = validate(model, x[192:], y[192:])
    s0, s_mid = stats(model), None
    for epoch in range(7):
        if epoch == FREEZE_FROM:
            s_mid = stats(model)
        train_epoch(model, loader, opt, epoch >= FREEZE_FROM)
        last = validate(model, x[192:], y[192:])
        print(f"epoch {epoch} val {last:.4f}")
    print(f"stats moved before epoch 4: {not torch.equal(s0, s_mid)}, stats fixed after: "
          f"{torch.equal(s_mid, stats(model))}, val loss went down: {last < first}")


if __name__ == "__main__":
    main()
