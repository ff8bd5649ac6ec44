# gradient-shape-mismatch | error | shape
# evidence: True
import torch

m = torch.randn(2, 2, requires_grad=True)
out = m @ m
bad = False
try:
    out.backward(gradient=torch.tensor(1.0))  #R #C
except RuntimeError as e:
    bad = "Mismatch in shape" in str(e)
print("evidence:", bad)
