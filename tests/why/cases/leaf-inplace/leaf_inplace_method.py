# leaf-inplace | error | leaf, in-place/in place, no_grad
# evidence: True
import torch

w = torch.rand(3, requires_grad=True)
failed = False
try:
    w.clamp_(0, 0.5)  #R #C
except RuntimeError:
    failed = True
print("evidence:", failed)
