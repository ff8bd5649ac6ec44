# nan-derivative | nan | pow/**, nan/inf
# evidence: True
import torch

s = torch.tensor([0.0, 4.0], requires_grad=True)
y = (s ** 0.5) * torch.tensor([0.0, 1.0])  #C
y.sum().backward()
g = s.grad  #R
print("evidence:", bool(torch.isnan(g).any()))
