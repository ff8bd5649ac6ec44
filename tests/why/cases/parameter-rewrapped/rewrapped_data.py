# parameter-rewrapped, detach | none | parameter, .data/history/graph/leaf
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
hyper = nn.Linear(2, 6)
w = nn.Parameter(hyper(torch.ones(2)).data.view(2, 3))  #C
loss = (w * torch.randn(2, 3)).sum()
loss.backward()
g = hyper.weight.grad  #R
print("evidence:", g is None)
