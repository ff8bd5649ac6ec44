# nan-derivative | nan | acos, nan/inf
# evidence: True
import torch

v = torch.tensor([1.0, 0.0], requires_grad=True)
u = torch.tensor([1.0, 0.0])
angle = torch.acos((v * u).sum())  #C
angle.backward()
g = v.grad  #R
print("evidence:", not bool(torch.isfinite(g).all()))
