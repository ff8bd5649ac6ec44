# parameter-rewrapped, value-copied-out, detach | none | parameter/leaf, graph/history/inner
# evidence: True
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
theta = nn.Parameter(torch.randn(3, 1))
meta_opt = torch.optim.SGD([theta], lr=0.01)
xs, ys = torch.randn(8, 3), torch.randn(8, 1)
xq, yq = torch.randn(8, 3), torch.randn(8, 1)

inner = F.mse_loss(xs @ theta, ys)
grad, = torch.autograd.grad(inner, theta, create_graph=True)
fast = nn.Parameter(theta - 0.1 * grad)  #C
outer = F.mse_loss(xq @ fast, yq)
meta_opt.zero_grad()
outer.backward()
g = theta.grad  #R
meta_opt.step()
print("meta gradient", g)
print("evidence:", g is None)
