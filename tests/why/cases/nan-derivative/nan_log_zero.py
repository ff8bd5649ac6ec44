# nan-derivative | nan | log, nan/inf
# evidence: True
import torch

p = torch.tensor([0.0, 0.5, 0.5], requires_grad=True)
entropy = -(p * torch.log(p)).sum()  #C
entropy.backward()
g = p.grad  #R
print("evidence:", bool(torch.isnan(g).any()) or bool(torch.isinf(g).any()))
