# parameter-rewrapped, detach | none | parameter
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
meta_lr = nn.Parameter(torch.tensor(0.1))
net = nn.Linear(3, 1)
x, y = torch.randn(10, 3), torch.randn(10, 1)
inner = nn.functional.mse_loss(net(x), y)
grads = torch.autograd.grad(inner, list(net.parameters()), create_graph=True)
adapted = nn.Linear(3, 1)
adapted.weight = nn.Parameter(net.weight - meta_lr * grads[0])  #C
adapted.bias = nn.Parameter(net.bias - meta_lr * grads[1])  #C
outer = nn.functional.mse_loss(adapted(x), y)
outer.backward()
g = meta_lr.grad  #R
print("evidence:", g is None)
