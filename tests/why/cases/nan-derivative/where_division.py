# nan-derivative | nan | div//, where/branch/inf
# evidence: [False, True]
import torch

v = torch.tensor([2.0, 0.0], requires_grad=True)
n = torch.tensor([1.0, 0.0])
inv = torch.where(v != 0, n / v, torch.zeros(2))  #C
inv.sum().backward()
g = v.grad  #R
print("evidence:", torch.isnan(g).tolist())
