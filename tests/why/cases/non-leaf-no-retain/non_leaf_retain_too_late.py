# non-leaf-no-retain | none | retain_grad, before
# evidence: True
import torch

w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = w ** 2  #C
loss = y.sum()
loss.backward()
y.retain_grad()  #C
g = y.grad  #R
print("evidence:", g is None)
