# parameter-rewrapped | none | parameter
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
base = nn.Linear(3, 1)
delta = nn.Parameter(torch.zeros(1, 3))
x, y = torch.randn(6, 3), torch.randn(6, 1)
patched = nn.Linear(3, 1)
patched.weight = nn.Parameter(base.weight + delta)  #C
patched.bias = base.bias
loss = nn.functional.mse_loss(patched(x), y)
loss.backward()
g = delta.grad  #R
print("evidence:", g is None)
