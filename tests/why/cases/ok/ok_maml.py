# ok
# evidence: True
import torch

torch.manual_seed(0)
theta = torch.randn(3, 1, requires_grad=True)
opt = torch.optim.SGD([theta], lr=0.01)
for task in range(2):
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    inner = ((x @ theta - y) ** 2).mean()
    (g,) = torch.autograd.grad(inner, theta, create_graph=True)
    fast = theta - 0.1 * g
    outer = ((x @ fast - y) ** 2).mean()
    opt.zero_grad()
    outer.backward()
    opt.step()
print("evidence:", theta.grad is not None)
