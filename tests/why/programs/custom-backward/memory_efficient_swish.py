# custom-backward
# evidence: done
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class MemoryEfficientSwish(torch.autograd.Function):
    """x * sigmoid(x), recomputing the activation in backward."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        sig = torch.sigmoid(x)
        return sig * (1 + x * (1 - sig))  #C


class Swish(nn.Module):
    def forward(self, x):
        return MemoryEfficientSwish.apply(x)


class FunctionFitter(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, hidden), Swish(),
            nn.Linear(hidden, hidden), Swish(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(-1)


def target_fn(x):
    return torch.sin(math.pi * x[:, 0]) * torch.cos(math.pi * x[:, 1])


def train(steps=400, batch=128, lr=3e-3):
    torch.manual_seed(0)
    model = FunctionFitter()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)
    for step in range(1, steps + 1):
        x = 2 * torch.rand(batch, 2) - 1
        loss = F.mse_loss(model(x), target_fn(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 100 == 0:
            print(f"step {step}: mse {loss.item():.5f}")
    return model


if __name__ == "__main__":
    model = train()
    model.eval()
    with torch.no_grad():
        grid = torch.cartesian_prod(torch.linspace(-1, 1, 21), torch.linspace(-1, 1, 21))
        print("grid mse", F.mse_loss(model(grid), target_fn(grid)).item())
print("evidence: done")
