# ok
# evidence: lr never raised: True, lr reduced at least once: True, val loss went down: True
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_split(n_train=96, n_val=64):
    w = torch.randn(5, 1)
    x = torch.randn(n_train + n_val, 5)
    y = x @ w + 0.3 * torch.randn(n_train + n_val, 1)
    return TensorDataset(x[:n_train], y[:n_train]), TensorDataset(x[n_train:], y[n_train:])


def run_epoch(model, loader, criterion, optimizer=None):
    training = optimizer is not None
    model.train(training)
    total = 0.0
    with torch.set_grad_enabled(training):
        for x, y in loader:
            loss = criterion(model(x), y)
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(x)
    return total / len(loader.dataset)


def main():
    torch.manual_seed(31)
    train_set, val_set = make_split()
    train_loader = DataLoader(train_set, batch_size=24, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=64)
    model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-2)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    criterion = nn.MSELoss()
    lrs, vals = [], []
    for epoch in range(15):
        tr = run_epoch(model, train_loader, criterion, optimizer)
        va = run_epoch(model, val_loader, criterion)
        scheduler.step(va)
        lrs.append(optimizer.param_groups[0]["lr"])
        vals.append(va)
        print(f"epoch {epoch:2d} train {tr:.4f} val {va:.4f} lr {lrs[-1]:.4f}")
    falling = all(b <= a for a, b in zip(lrs, lrs[1:]))
    print(f"lr never raised: {falling}, lr reduced at least once: {lrs[-1] < 5e-2}, "
          f"val loss went down: {vals[-1] < vals[0]}")


if __name__ == "__main__":
    main()
