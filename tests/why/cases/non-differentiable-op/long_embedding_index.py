# non-differentiable-op | none | derivative/differentiable/integer
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
loc = nn.Linear(2, 1)
table = nn.Embedding(10, 3)
x = torch.rand(4, 2)
idx = (torch.sigmoid(loc(x)) * 9).round().to(torch.int64).squeeze(1)  #C
loss = table(idx).pow(2).sum()
loss.backward()
g = loc.weight.grad  #R
print("evidence:", g is None)
