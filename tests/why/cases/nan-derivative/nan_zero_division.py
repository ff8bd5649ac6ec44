# nan-derivative | nan | div//, nan
# evidence: True
import torch

x = torch.tensor([0.0, 1.0], requires_grad=True)
y = torch.tensor([0.0, 2.0], requires_grad=True)
ratio = x / y  #C
ok = torch.where(y > 0, ratio, torch.zeros(2))
ok.sum().backward()
g = y.grad  #R
print("evidence:", bool(torch.isnan(g).any()))
