# inplace-saved-tensor | error | in-place/in place/inplace, exp
# evidence: True
import torch
import torch.nn as nn

lin = nn.Linear(3, 3)
h = torch.exp(lin(torch.randn(2, 3)))
out = nn.ReLU(inplace=True)(h - 1)
h.mul_(0.5)  #C
failed = False
try:
    (out + h).sum().backward()  #R
except RuntimeError as e:
    failed = "inplace" in str(e)
print("evidence:", failed)
