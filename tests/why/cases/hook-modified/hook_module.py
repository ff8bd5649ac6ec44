# hook-modified | wrong-value | hook
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
layer = nn.Linear(2, 2)
layer.register_full_backward_hook(lambda m, gin, gout: tuple(-g for g in gin))  #C
x = torch.ones(1, 2, requires_grad=True)
layer(x).sum().backward()
g = x.grad  #R
print("evidence:", torch.allclose(g, -layer.weight.sum(0, keepdim=True)))
