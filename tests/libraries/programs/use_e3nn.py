import torch
from e3nn import o3

torch.manual_seed(0)
product = o3.FullyConnectedTensorProduct("2x0e + 1x1o", "1x0e + 1x1o", "2x0e + 1x1o")
x, y = torch.randn(5, 5), o3.spherical_harmonics("0e + 1o", torch.randn(5, 3), normalize=True)
out = product(x, y)
out.pow(2).sum().backward()
print(out.norm().item(), product.weight.grad.norm().item(), o3.Irreps("2x0e+1x1o").dim, o3.wigner_3j(1, 1, 1).norm().item())
