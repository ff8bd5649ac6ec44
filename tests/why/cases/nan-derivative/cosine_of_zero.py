# nan-derivative | nan | nan, sqrt/norm/div
# evidence: True
import torch

emb = torch.zeros(2, 3, requires_grad=True)
ref = torch.ones(2, 3)
length = (emb ** 2).sum(1, keepdim=True) ** 0.5  #C
unit = emb / length  #C
sim = (unit * ref).sum()
sim.backward()
g = emb.grad  #R
print("evidence:", bool(torch.isnan(g).any()))
