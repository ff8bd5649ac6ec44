import opt_einsum
import torch

torch.manual_seed(0)
a, b, c = (torch.randn(shape, requires_grad=True) for shape in ((3, 4), (4, 5), (5, 2)))
out = opt_einsum.contract("ij,jk,kl->il", a, b, c)
out.sin().sum().backward()
expression = opt_einsum.contract_expression("ij,jk->ik", (3, 4), (4, 5))
print(out.sum().item(), a.grad.norm().item(), expression(a, b).norm().item())
