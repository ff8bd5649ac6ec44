# zero-factor, zero-local-derivative | zero | zero/mask
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
value = nn.Linear(4, 4)
x = torch.randn(1, 3, 4)
keep = torch.zeros(1, 3, 1)  #C
pooled = (value(x) * keep).sum(1)  #C
loss = (pooled - 1).pow(2).sum()
loss.backward()
g = value.weight.grad  #R
print("evidence:", bool((g == 0).all()))
