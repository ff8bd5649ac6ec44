# non-differentiable-op | none | derivative/differentiable/indices/comparison
# evidence: True
import torch

gate = torch.randn(6, requires_grad=True)
w = torch.randn(6, requires_grad=True)
keep = gate >= gate.median()  #C
loss = (w * keep).sum()
loss.backward()
g = gate.grad  #R
print("evidence:", g is None)
