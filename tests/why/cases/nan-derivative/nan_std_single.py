# nan-derivative | nan | std, nan
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(3, 2)
out = net(torch.randn(1, 3))
spread = out.std(dim=0).sum()  #C
(out.mean() + spread).backward()
g = net.weight.grad  #R
print("evidence:", bool(torch.isnan(g).all()))
