import torch
from pytorch_wavelets import DWTForward, DWTInverse

torch.manual_seed(0)
x = torch.randn(1, 2, 16, 16, requires_grad=True)
low, high = DWTForward(J=2, wave="db2", mode="zero")(x)
back = DWTInverse(wave="db2", mode="zero")((low, high))
(low.pow(2).sum() + high[0].sum()).backward()
print(low.norm().item(), high[0].norm().item(), back[..., :16, :16].sub(x).norm().item() < 1e-4, x.grad.norm().item())
