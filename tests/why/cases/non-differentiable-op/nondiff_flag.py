# non-differentiable-op | not-tracked | argsort, derivative/differentiable/integer/indic
# evidence: False
import torch

score = torch.randn(5, requires_grad=True)
rank = score.argsort(descending=True)  #C
flag = rank.float().requires_grad  #R
print("evidence:", flag)
