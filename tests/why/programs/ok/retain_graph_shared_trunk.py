# ok
# evidence: trunk and heads moved: True, both losses went down: True
import torch
import torch.nn.functional as F
from torch import nn


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv1d(2, 12, 3, padding=1), nn.ELU(), nn.AdaptiveAvgPool1d(4), nn.Flatten())
        self.mean = nn.Linear(48, 2)
        self.trend = nn.Linear(48, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.mean(h), self.trend(h)


def windows(n):
    slope = torch.randint(-1, 2, (n,))
    t = torch.linspace(-1, 1, 12)
    x = torch.randn(n, 2, 1) + slope[:, None, None] * t + 0.2 * torch.randn(n, 2, 12)
    return x, x.mean(-1), slope + 1


def main():
    torch.manual_seed(74)
    model = TwoHeads()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    before = [p.detach().clone() for p in model.parameters()]
    history = []
    for step in range(50):
        x, mean, trend = windows(32)
        pred_mean, pred_trend = model(x)
        loss_mean = F.mse_loss(pred_mean, mean)
        loss_trend = F.cross_entropy(pred_trend, trend)
        opt.zero_grad()
        loss_mean.backward(retain_graph=True)      # the trunk's graph is needed once more below
        loss_trend.backward()
        opt.step()
        history.append((loss_mean.item(), loss_trend.item()))
        if step % 10 == 9:
            print(f"step {step + 1} mean {history[-1][0]:.4f} trend {history[-1][1]:.4f}")
    moved = all(not torch.equal(a, b.detach()) for a, b in zip(before, model.parameters()))
    first, last = history[:6], history[-6:]
    down = all(sum(h[i] for h in last) < sum(h[i] for h in first) for i in (0, 1))
    print(f"trunk and heads moved: {moved}, both losses went down: {down}")


if __name__ == "__main__":
    main()
