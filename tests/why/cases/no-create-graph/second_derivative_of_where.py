# no-create-graph | not-tracked | create_graph
# evidence: False
import torch
import torch.nn as nn

torch.manual_seed(0)
pinn = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
t = torch.linspace(0, 1, 5).unsqueeze(1).requires_grad_()
u = pinn(t)
du = torch.autograd.grad(u.sum(), t)[0]  #C
residual = (du + u.detach()).pow(2).mean()
flag = residual.requires_grad  #R
print("evidence:", flag)
