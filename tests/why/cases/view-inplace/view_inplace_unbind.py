# view-inplace, inplace-saved-tensor, leaf-inplace | error | view, in-place/inplace/in place
# evidence: True
import torch

w = torch.randn(2, 3, requires_grad=True)
a, b = (w * 2).unbind(0)  #C
failed = False
try:
    a.mul_(2)  #R #C
except RuntimeError as e:
    failed = "view" in str(e)
print("evidence:", failed)
