# ok
# evidence: True
import torch

torch.manual_seed(0)
x = torch.randn(4, requires_grad=True)
f = (x ** 3).sum()
(g,) = torch.autograd.grad(f, x, create_graph=True)
hv = torch.autograd.grad((g * torch.ones(4)).sum(), x)[0]
f2 = (x ** 2).sum()
f2.backward()
print("evidence:", torch.allclose(hv, 6 * x) and torch.allclose(x.grad, 2 * x))
