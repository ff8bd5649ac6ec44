"""Own autograd functions: a straight-through estimator, and an activation that can be differentiated twice.

A network with binary weights learns a function together with its slope.
"""

import argparse

import torch
from torch import nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class Binarize(Function):
    """The sign of the weights; the gradient goes straight through where they are between -1 and 1."""

    @staticmethod
    def forward(ctx, weight):
        ctx.save_for_backward(weight)
        return torch.where(weight >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad_output):
        (weight,) = ctx.saved_tensors
        return grad_output * (weight.abs() <= 1).to(grad_output.dtype)


class SquarePlus(Function):
    """(x + sqrt(x² + b)) / 2, a smooth relu. Its backward is made of differentiable operations."""

    @staticmethod
    def forward(ctx, x, b):
        root = torch.sqrt(x * x + b)
        ctx.save_for_backward(x)
        ctx.b = b
        return (x + root) / 2

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * (1 + x / torch.sqrt(x * x + ctx.b)) / 2, None


class ScaleGradient(Function):
    """Does nothing on the way forward, scales the gradient on the way back."""

    @staticmethod
    def forward(x, factor):
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.factor = inputs

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        return grad_output * ctx.factor, None


class BinaryLinear(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_out, n_in).uniform_(-0.5, 0.5))
        self.scale = nn.Parameter(torch.full((n_out, 1), n_in**-0.5))
        self.bias = nn.Parameter(torch.zeros(n_out))

    def forward(self, x):
        return nn.functional.linear(x, Binarize.apply(self.weight) * self.scale, self.bias)


class Network(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.first = nn.Linear(1, hidden)
        self.middle = BinaryLinear(hidden, hidden)
        self.last = nn.Linear(hidden, 1)

    def forward(self, x):
        x = SquarePlus.apply(self.first(x), 0.5)
        x = SquarePlus.apply(self.middle(x), 0.5)
        return self.last(x)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    model = Network()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(args.steps):
        x = torch.empty(64, 1).uniform_(-2.0, 2.0).requires_grad_()
        y = model(x)
        (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        value_loss = (ScaleGradient.apply(y, 2.0) - torch.sin(2 * x.detach())).square().mean()
        slope_loss = (slope - 2 * torch.cos(2 * x.detach())).square().mean()
        loss = value_loss + 0.1 * slope_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.6f}")


if __name__ == "__main__":
    main()
