# zero-local-derivative | zero | sign
# evidence: True
import torch

w = torch.tensor([0.5, -0.2, 0.1], requires_grad=True)
x = torch.tensor([1.0, 2.0, 3.0])
out = (torch.sign(w) * x).sum()  #C
out.backward()
g = w.grad  #R
print("evidence:", bool((g == 0).all()))
