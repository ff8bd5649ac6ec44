# nan-derivative | nan | sqrt, nan/inf
# evidence: True
import torch

a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([1.0, 2.0])
dist = ((a - b) ** 2).sum().sqrt()  #C
dist.backward()
g = a.grad  #R
print("evidence:", bool(torch.isnan(g).any()))
