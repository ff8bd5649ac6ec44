# leaf-replaced, non-leaf-no-retain | none | leaf, double/to/new
# evidence: True False
import torch

w = torch.randn(3, requires_grad=True).double()  #C
loss = (w ** 2).sum()
loss.backward()
g = w.grad  #R
print("evidence:", g is None, w.is_leaf)
