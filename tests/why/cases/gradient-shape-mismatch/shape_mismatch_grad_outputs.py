# gradient-shape-mismatch | error | shape
# evidence: True
import torch

x = torch.randn(2, 3, requires_grad=True)
y = x.exp().sum(dim=1)
failed = False
try:
    torch.autograd.grad(y, x, grad_outputs=torch.ones(2, 3))  #R #C
except RuntimeError:
    failed = True
print("evidence:", failed)
