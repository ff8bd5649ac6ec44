# nan-derivative | nan | var/std, nan
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
enc = nn.Linear(3, 4)
h = enc(torch.randn(1, 3))
reg = h.var(dim=0).mean()  #C
loss = h.pow(2).mean() + 0.01 * reg
loss.backward()
g = enc.weight.grad  #R
print("evidence:", bool(torch.isnan(g).any()))
