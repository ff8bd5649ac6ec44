# ok
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
params = list(net.parameters())
x, y = torch.randn(10, 3), torch.randn(10, 1)
loss = nn.functional.mse_loss(net(x), y)
grads = torch.autograd.grad(loss, params, create_graph=True)
vs = [torch.randint_like(p, 2) * 2 - 1 for p in params]
hv = torch.autograd.grad(sum((g * v).sum() for g, v in zip(grads, vs)), params)
trace = sum((v * h).sum() for v, h in zip(vs, hv)).item()
print("evidence:", isinstance(trace, float))
