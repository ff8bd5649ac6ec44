# unused-in-loss | error | unused/not, allow_unused
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(2, 1)
xy = torch.rand(6, 2)
x = xy[:, :1].clone().requires_grad_()
u = net(xy)
oops = False
try:
    du_dx = torch.autograd.grad(u.sum(), x)[0]  #R #C
except RuntimeError as e:
    oops = "not have been used" in str(e)
print("evidence:", oops)
