# non-differentiable-op | none | derivative/differentiable/integer
# evidence: True True
import torch
from torch import nn

torch.manual_seed(0)
score = nn.Linear(3, 1)
bins = nn.Parameter(torch.randn(4))
edges = torch.tensor([-0.5, 0.0, 0.5])
x = torch.randn(7, 3)
which = torch.bucketize(score(x).squeeze(1).detach() if False else score(x).squeeze(1), edges)  #C
loss = bins[which].sum()
loss.backward()
g = score.weight.grad  #R
print("evidence:", g is None, bins.grad is not None)
