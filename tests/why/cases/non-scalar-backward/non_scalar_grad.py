# non-scalar-backward | error | scalar/one element, grad_outputs/gradient
# evidence: True
import torch

x = torch.linspace(0, 1, 4, requires_grad=True)
y = torch.sin(x)  #C
failed = False
try:
    dy = torch.autograd.grad(y, x)  #R
except RuntimeError as e:
    failed = "scalar outputs" in str(e)
print("evidence:", failed)
