# zero-local-derivative, zero-factor | zero | max
# evidence: True
import torch

a = torch.tensor([5.0, 6.0], requires_grad=True)
b = torch.tensor([1.0, 2.0], requires_grad=True)
top = torch.maximum(a, b)  #C
top.sum().backward()
g = b.grad  #R
print("evidence:", bool((g == 0).all()))
