# ok
# evidence: closure called more than once per step: True, error small: True
import torch
from torch import nn


class Damped(nn.Module):
    """a * exp(-b t) * cos(w t + p)"""

    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.tensor(1.0))
        self.b = nn.Parameter(torch.tensor(0.1))
        self.w = nn.Parameter(torch.tensor(1.8))
        self.p = nn.Parameter(torch.tensor(0.1))

    def forward(self, t):
        return self.a * torch.exp(-self.b * t) * torch.cos(self.w * t + self.p)


def main():
    torch.manual_seed(0)
    t = torch.linspace(0, 5, 80)
    y = 1.6 * torch.exp(-0.3 * t) * torch.cos(2.0 * t + 0.4) + 0.02 * torch.randn(80)
    model = Damped()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=1.0, max_iter=8, line_search_fn="strong_wolfe")
    calls = 0

    def closure():
        nonlocal calls
        calls += 1
        optimizer.zero_grad()
        loss = (model(t) - y).pow(2).mean()
        loss.backward()
        return loss

    for step in range(6):
        loss = optimizer.step(closure)
        print(f"step {step} loss {loss.item():.6f}")
    with torch.no_grad():
        final = (model(t) - y).pow(2).mean().item()
    print(f"closure called more than once per step: {calls > 6}, error small: {final < 0.01}")


if __name__ == "__main__":
    main()
