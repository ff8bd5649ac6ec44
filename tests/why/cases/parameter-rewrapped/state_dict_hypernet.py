# parameter-rewrapped, unused-in-loss, detach | none | parameter/copy/load_state_dict/loss
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
hyper = nn.Linear(2, 3)
target = nn.Linear(2, 1)
z = torch.randn(2)
gen = hyper(z)
target.weight = nn.Parameter(gen[:2].view(1, 2))  #C
target.bias = nn.Parameter(gen[2:])  #C
loss = target(torch.randn(5, 2)).pow(2).mean()
loss.backward()
g = hyper.weight.grad  #R
print("evidence:", g is None)
