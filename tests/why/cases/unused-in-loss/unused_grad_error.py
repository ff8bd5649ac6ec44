# unused-in-loss | error | unused/not, allow_unused
# evidence: True
import torch

x = torch.randn(3, requires_grad=True)
t = torch.randn(3, requires_grad=True)
u = (x ** 2).sum()
failed = False
try:
    torch.autograd.grad(u, [x, t])  #R #C
except RuntimeError as e:
    failed = "not have been used" in str(e)
print("evidence:", failed)
