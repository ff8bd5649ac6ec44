# ok
# evidence: trained
# Gradients that are used as numbers on purpose: a first-order inner step, a perturbed input, a weight.
import torch
import torch.nn.functional as F
from torch import nn


def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
    names = [name for name, _ in net.named_parameters()]
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(10):
        x = torch.randn(16, 4)
        y = x.sum(1, keepdim=True)
        inner = F.mse_loss(net(x), y)
        grads = torch.autograd.grad(inner, list(net.parameters()))
        fast = {name: p - 0.1 * g for name, p, g in zip(names, net.parameters(), grads, strict=True)}
        moved = x.clone().requires_grad_()
        push = torch.autograd.grad(F.mse_loss(net(moved), y), moved)[0]
        hard = F.mse_loss(net(x + 0.05 * push.sign()), y)
        loss = F.mse_loss(torch.func.functional_call(net, fast, (x,)), y) + hard * push.norm().clamp(max=1.0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("trained")


main()
