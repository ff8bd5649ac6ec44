# frozen | none | requires_grad
# evidence: True False
import torch

w = torch.ones(3, requires_grad=True)
v = torch.ones(3, requires_grad=True)
loss = (w * v).sum()
w.requires_grad_(False)  #C
loss.backward()
g = w.grad  #R
print("evidence:", g is None, w.requires_grad)
