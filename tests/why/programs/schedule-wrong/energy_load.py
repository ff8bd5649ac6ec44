# schedule-wrong | scheduler/steplr/schedule, step_size/never/no effect/unchanged/not change/constant
# evidence: different learning rates used over 10 epochs: 1
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LoadNet(nn.Module):
    def __init__(self, n_in=6, hidden=24):
        super().__init__()
        self.inp = nn.Linear(n_in, hidden)
        self.hid = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        x = nn.functional.silu(self.inp(x))
        x = x + nn.functional.silu(self.hid(x))
        return self.out(x).squeeze(1)


def make_load(n):
    x = torch.randn(n, 6)
    y = x[:, 0].sin() + 0.5 * x[:, 1] * x[:, 2] - 0.3 * x[:, 5] + 0.02 * torch.randn(n)
    return TensorDataset(x, y)


def build(model, lr=1e-2):
    optimizer = torch.optim.RMSprop(model.parameters(), lr=lr)
    # a third of the learning rate after every 3 epochs
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=300, gamma=1 / 3)  #C
    return optimizer, scheduler


def train_epoch(model, loader, optimizer):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def validate(model, loader):
    model.eval()
    return sum(nn.functional.l1_loss(model(x), y).item() for x, y in loader) / len(loader)


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(make_load(160), batch_size=32, shuffle=True)
    val_loader = DataLoader(make_load(64), batch_size=64)
    model = LoadNet()
    optimizer, scheduler = build(model)
    lrs = set()
    for epoch in range(10):
        lrs.add(scheduler.get_last_lr()[0])
        loss = train_epoch(model, train_loader, optimizer)
        mae = validate(model, val_loader)
        scheduler.step()  #C
        print(f"epoch {epoch}: mse {loss:.4f} val mae {mae:.4f}")
    print("different learning rates used over 10 epochs:", len(lrs))


if __name__ == "__main__":
    main()
