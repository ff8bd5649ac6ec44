# hook-modified | zero, wrong-value, none, partly-zero | hook
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))


def debug_hook(module, grad_input, grad_output):
    return tuple(torch.zeros_like(g) if g is not None else None for g in grad_input)


net[1].register_full_backward_hook(debug_hook)  #C
x = torch.randn(5, 4)
net(x).sum().backward()
g = net[0].weight.grad  #R
print("evidence:", bool((g == 0).all()))
