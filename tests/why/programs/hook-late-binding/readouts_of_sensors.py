# hook-late-binding
# evidence: done
# Multi-output sensor model: one calibrated head per sensor on a shared trunk.
import torch
import torch.nn as nn
import torch.nn.functional as F


class SensorNet(nn.Module):
    def __init__(self, d_in, n_sensors, hidden=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d_in, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.heads = nn.ModuleList(nn.Linear(hidden, 1) for _ in range(n_sensors))
        self.gain = nn.Parameter(torch.ones(n_sensors))
        self.readouts = []
        for k in range(n_sensors):
            self.readouts.append(lambda h: self.gain[k] * self.heads[k](h))  #C

    def forward(self, x):
        h = self.trunk(x)
        return torch.cat([read(h) for read in self.readouts], dim=1)


def simulate(n, d, sensors, gen):
    w = torch.randn(d, sensors, generator=gen)
    x = torch.randn(n, d, generator=gen)
    return x, torch.tanh(x @ w) + 0.05 * torch.randn(n, sensors, generator=gen)


def run_epoch(model, x, y, opt=None, bs=64):
    total = 0.0
    order = torch.randperm(len(x)) if opt else torch.arange(len(x))
    for idx in order.split(bs):
        with torch.set_grad_enabled(opt is not None):
            loss = F.mse_loss(model(x[idx]), y[idx])
        if opt:
            opt.zero_grad()
            loss.backward()
            opt.step()
        total += loss.item() * len(idx)
    return total / len(x)


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(5)
    x, y = simulate(1500, 6, 4, gen)
    model = SensorNet(6, 4)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(3):
        tr = run_epoch(model, x[:1200], y[:1200], opt)
        va = run_epoch(model, x[1200:], y[1200:])
        print(f"epoch {epoch} train {tr:.4f} val {va:.4f}")


if __name__ == "__main__":
    main()
print("evidence: done")
