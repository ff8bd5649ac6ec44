import torch
import torch_dct

torch.manual_seed(0)
x = torch.randn(3, 16, requires_grad=True)
for transform in (torch_dct.dct, torch_dct.idct, torch_dct.dct1, torch_dct.dct_2d):
    out = transform(x)
    (gradient,) = torch.autograd.grad(out.pow(3).sum(), x)
    print(out.sum().item(), gradient.norm().item())
print((torch_dct.idct(torch_dct.dct(x)) - x).abs().max().item() < 1e-5)
