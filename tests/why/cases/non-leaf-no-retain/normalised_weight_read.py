# non-leaf-no-retain, leaf-replaced | none | leaf
# evidence: True
import torch
import torch.nn as nn
from torch.nn.utils.parametrizations import weight_norm

torch.manual_seed(0)
lin = weight_norm(nn.Linear(4, 3))
opt = torch.optim.SGD(lin.parameters(), lr=0.1)
opt.zero_grad()
lin(torch.randn(5, 4)).pow(2).mean().backward()
import warnings

warnings.simplefilter("ignore")
g = lin.weight.grad  #R #C
opt.step()
print("evidence:", g is None)
