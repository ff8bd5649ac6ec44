# parameter-rewrapped | none | parameter, graph/history/leaf
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
theta = nn.Parameter(torch.randn(3, 1))
x, y = torch.randn(8, 3), torch.randn(8, 1)
inner = ((x @ theta - y) ** 2).mean()
(g,) = torch.autograd.grad(inner, theta, create_graph=True)
fast = nn.Parameter(theta - 0.1 * g)  #C
outer = ((x @ fast - y) ** 2).mean()
outer.backward()
result = theta.grad  #R
print("evidence:", result is None)
