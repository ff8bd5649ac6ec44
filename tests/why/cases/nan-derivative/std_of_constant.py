# nan-derivative | nan | std, nan
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
proj = nn.Linear(4, 3)
batch = torch.randn(1, 4)
h = proj(batch)
z = (h - h.mean(0)) / h.std(0)  #C
loss = z.pow(2).sum()
loss.backward()
g = proj.weight.grad  #R
print("evidence:", bool(torch.isnan(g).any()))
