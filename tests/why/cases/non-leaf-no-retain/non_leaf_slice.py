# non-leaf-no-retain | none | leaf, retain_grad
# evidence: True True
import torch

w = torch.randn(5, requires_grad=True)
loss = (w[:2] * 3).sum()
loss.backward()
g = w[0].grad  #R #C
print("evidence:", g is None, w.grad is not None)
