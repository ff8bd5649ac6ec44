# gradient-shape-mismatch | error | shape, broadcast/same shape
# evidence: True
import torch

x = torch.randn(3, requires_grad=True)
y = (x * 2).view(3, 1)
failed = False
try:
    y.backward(torch.ones(3))  #R #C
except RuntimeError as e:
    failed = "Mismatch in shape" in str(e)
print("evidence:", failed)
