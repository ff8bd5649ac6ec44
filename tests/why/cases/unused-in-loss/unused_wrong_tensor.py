# unused-in-loss, detach | none | loss
# evidence: True
import torch

w = torch.zeros(2, requires_grad=True)
copy_of_w = w.clone().detach().requires_grad_(True)  #C
loss = ((copy_of_w - 1) ** 2).sum()  #C
loss.backward()
g = w.grad  #R
print("evidence:", g is None)
