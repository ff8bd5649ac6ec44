# nan-derivative | nan | exp, overflow/inf/nan
# evidence: True
import torch

z = torch.tensor([100.0, 1.0], requires_grad=True)
soft = torch.exp(z) / torch.exp(z).sum()  #C
soft[0].backward()
g = z.grad  #R
print("evidence:", bool(torch.isnan(g).any()))
