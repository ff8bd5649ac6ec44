# hook-modified | zero | hook
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)


def wipe(grad):
    grad.mul_(0.0)


net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
h = net[0](torch.randn(5, 3))
h.register_hook(wipe)  #C
net[2](net[1](h)).pow(2).mean().backward()
g = net[0].weight.grad  #R
print("evidence:", bool((g == 0).all()))
