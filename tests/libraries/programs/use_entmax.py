import torch
from entmax import entmax15, entmax_bisect, sparsemax

torch.manual_seed(0)
x = torch.randn(4, 6, requires_grad=True)
for function in (sparsemax, entmax15, lambda x: entmax_bisect(x, 1.3)):
    x.grad = None
    out = function(x)
    (out * torch.arange(6.0)).sum().backward()
    print(out.norm().item(), x.grad.norm().item())
