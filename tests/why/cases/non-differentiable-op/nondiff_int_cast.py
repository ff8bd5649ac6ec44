# non-differentiable-op | none | long/int, derivative/differentiable/integer
# evidence: True
import torch

pos = torch.tensor([0.2, 1.7, 2.1], requires_grad=True)
table = torch.randn(4, requires_grad=True)
loss = table[pos.long()].sum()  #C
loss.backward()
g = pos.grad  #R
print("evidence:", g is None)
