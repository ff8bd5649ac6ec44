# ok
# evidence: residual went down: True
import torch
from torch import nn


class Solution(nn.Module):
    """u(t) with u(0) = 1 and u'(0) = 0 built in: u = 1 + t^2 * N(t)."""

    def __init__(self, hidden=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
                                 nn.Linear(hidden, 1))

    def forward(self, t):
        return 1 + t ** 2 * self.net(t)


def derivative(u, t):
    return torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]


def residual(model, t, omega=2.0):
    u = model(t)
    return derivative(derivative(u, t), t) + omega ** 2 * u


def main():
    torch.manual_seed(0)
    model = Solution()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for step in range(80):
        t = (1.5 * torch.rand(32, 1)).requires_grad_(True)
        loss = residual(model, t).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        if step % 20 == 0:
            print(f"step {step} residual {losses[-1]:.4f}")
    print(f"residual went down: {sum(losses[-10:]) < sum(losses[:10])}")


if __name__ == "__main__":
    main()
