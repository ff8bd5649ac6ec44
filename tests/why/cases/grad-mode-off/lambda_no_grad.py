# grad-mode-off | none | no_grad
# evidence: True True
import torch
from torch import nn

torch.manual_seed(0)
stem, tail = nn.Linear(4, 4), nn.Linear(4, 1)
stages = [torch.no_grad()(stem.forward), torch.tanh, tail]  #C
h = torch.randn(5, 4)
for stage in stages:
    h = stage(h)  #C
h.mean().backward()
g = stem.weight.grad  #R
print("evidence:", g is None, tail.weight.grad is not None)
