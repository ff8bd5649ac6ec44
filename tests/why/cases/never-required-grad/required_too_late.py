# never-required-grad, unused-in-loss | none | requires_grad, after/late/before
# evidence: True True
import torch
import torch.nn as nn

net = nn.Linear(3, 2)
x = torch.randn(4, 3)
loss = net(x).sum()
x.requires_grad_()  #C
loss.backward()
g = x.grad  #R
print("evidence:", g is None, x.requires_grad)
