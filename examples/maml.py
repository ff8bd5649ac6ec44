"""Model-agnostic meta-learning: parameters from which a few gradient steps fit any sine curve.

The outer loss is differentiated through the inner gradient steps.
"""

import argparse
import math
from itertools import pairwise

import torch
import torch.nn.functional as F


def init_parameters(sizes):
    parameters = []
    for n_in, n_out in pairwise(sizes):
        parameters.append(torch.empty(n_out, n_in).normal_(0.0, math.sqrt(2.0 / n_in)).requires_grad_())
        parameters.append(torch.zeros(n_out, requires_grad=True))
    return parameters


def forward(parameters, x):
    """The network as a function of its parameters."""
    *hidden, weight, bias = parameters
    for w, b in zip(hidden[::2], hidden[1::2]):
        x = torch.tanh(F.linear(x, w, b))
    return F.linear(x, weight, bias)


class SineTask:
    """One sine curve of random amplitude and phase."""

    def __init__(self):
        self.amplitude = torch.empty(()).uniform_(0.5, 3.0)
        self.phase = torch.empty(()).uniform_(0.0, math.pi)

    def sample(self, count):
        x = torch.empty(count, 1).uniform_(-4.0, 4.0)
        return x, self.amplitude * torch.sin(x - self.phase)


def adapt(parameters, task, inner_steps, inner_lr):
    """Parameters after a few gradient steps on the task, still a function of those before."""
    x, y = task.sample(10)
    for _ in range(inner_steps):
        loss = F.mse_loss(forward(parameters, x), y)
        gradients = torch.autograd.grad(loss, parameters, create_graph=True)
        parameters = [p - inner_lr * g for p, g in zip(parameters, gradients)]
    return parameters


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--inner-steps", type=int, default=2)
    parser.add_argument("--inner-lr", type=float, default=0.02)
    parser.add_argument("--tasks", type=int, default=4)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    parameters = init_parameters([1, 40, 40, 1])
    optimizer = torch.optim.Adam(parameters, lr=2e-3)

    for step in range(args.steps):
        meta_loss = 0.0
        for _ in range(args.tasks):
            task = SineTask()
            adapted = adapt(parameters, task, args.inner_steps, args.inner_lr)
            x, y = task.sample(10)
            meta_loss = meta_loss + F.mse_loss(forward(adapted, x), y) / args.tasks
        optimizer.zero_grad()
        meta_loss.backward()
        optimizer.step()
        print(f"step {step} loss {meta_loss.item():.6f}")


if __name__ == "__main__":
    main()
