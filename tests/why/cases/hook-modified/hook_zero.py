# hook-modified | zero | hook
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
net.weight.register_hook(lambda grad: grad * 0)  #C
net(torch.randn(4, 3)).sum().backward()
g = net.weight.grad  #R
print("evidence:", bool((g == 0).all()))
