# value-copied-out | tensor/tolist/value/number
# evidence: gate updated: False
# parameters: gate.0.weight, gate.0.bias, gate.2.weight, gate.2.bias
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(58)


class Forecaster(nn.Module):
    def __init__(self, lags=6, hidden=12):
        super().__init__()
        self.fc1 = nn.Linear(lags, hidden)
        self.fc2 = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.fc2(torch.tanh(self.fc1(x)))


class GatedEnsemble(nn.Module):
    """Blends several forecasters with weights that depend on the input."""

    def __init__(self, members=3, lags=6):
        super().__init__()
        self.members = nn.ModuleList([Forecaster(lags) for _ in range(members)])
        self.gate = nn.Sequential(nn.Linear(lags, 16), nn.ReLU(), nn.Linear(16, members))

    def blend_weights(self, x):
        rows = []
        for row in torch.softmax(self.gate(x), dim=1):
            rows.append(row.tolist())  #C
        return torch.tensor(rows)  #C

    def forward(self, x):
        outputs = torch.cat([m(x) for m in self.members], dim=1)
        return (self.blend_weights(x) * outputs).sum(dim=1)


def temperature_series(n=220):
    t = torch.arange(n).float()
    return torch.sin(t / 5) + 0.5 * torch.sin(t / 17) + 0.05 * torch.randn(n)


def windows(series, lags=6):
    x = series.unfold(0, lags + 1, 1)
    return x[:, :lags], x[:, lags]


def main():
    x, y = windows(temperature_series())
    split = int(0.8 * len(x))
    model = GatedEnsemble()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    before = model.gate[0].weight.detach().clone()
    for epoch in range(8):
        model.train()
        for idx in torch.randperm(split).split(32):
            loss = F.mse_loss(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            val = F.mse_loss(model(x[split:]), y[split:]).item()
        print(f"epoch {epoch} train {loss.item():.4f} val {val:.4f}")
    print("gate updated:", not torch.equal(before, model.gate[0].weight))


if __name__ == "__main__":
    main()
