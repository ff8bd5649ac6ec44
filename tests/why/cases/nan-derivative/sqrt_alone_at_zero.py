# nan-derivative | nan | sqrt, eps
# evidence: tensor([nan, nan])
import torch

w = torch.zeros(2, requires_grad=True)
d = (w ** 2).sum().sqrt()  #C
d.backward()
print("evidence:", w.grad)  #R
