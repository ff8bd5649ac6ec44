# ok
# evidence: True
import torch

w = torch.tensor([0.0, 4.0], requires_grad=True)
z = w.abs()
z.register_hook(lambda g: torch.nan_to_num(g, nan=0.0, posinf=0.0))
torch.sqrt(z).sum().backward()
g = w.grad
print("evidence:", bool(torch.isfinite(g).all()))
