"""A physics-informed network solves the heat equation u_t = k u_xx; L-BFGS, and derivatives inside the loss."""

import argparse
import math

import torch
from torch import nn


class Solution(nn.Module):
    """u(t, x), zero at both ends of the rod by construction."""

    def __init__(self, hidden=20):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, hidden), nn.Tanh(),
            nn.Linear(hidden, hidden), nn.Tanh(),
            nn.Linear(hidden, 1),
        )

    def forward(self, t, x):
        return x * (1 - x) * self.net(torch.cat([t, x], dim=1))


def derivative(u, x):
    return torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--conductivity", type=float, default=0.1)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_default_dtype(torch.float64)

    points = torch.rand(2, 128, 1, requires_grad=True)
    t, x = points.unbind(0)
    x_start = torch.linspace(0, 1, 32).unsqueeze(1)
    u_start = torch.sin(math.pi * x_start)

    model = Solution()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=2, history_size=10)

    def closure():
        optimizer.zero_grad()
        u = model(t, x)
        residual = derivative(u, t) - args.conductivity * derivative(derivative(u, x), x)
        start = model(torch.zeros_like(x_start), x_start) - u_start
        loss = residual.pow(2).mean() + 10 * start.pow(2).mean()
        loss.backward(inputs=list(model.parameters()))
        return loss

    for step in range(args.steps):
        loss = optimizer.step(closure)
        print(f"step {step} loss {loss.item():.6f}")

    with torch.no_grad():
        middle = model(torch.tensor([[1.0]]), torch.tensor([[0.5]])).item()
    print(f"u(1, 1/2) = {middle:.4f}, exactly {math.exp(-args.conductivity * math.pi**2):.4f}")


if __name__ == "__main__":
    main()
