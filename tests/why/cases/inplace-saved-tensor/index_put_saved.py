# inplace-saved-tensor | error | in-place/in place/inplace, exp/sigmoid/tanh
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
lin = nn.Linear(4, 4)
h = torch.tanh(lin(torch.randn(3, 4)))
mask = torch.tensor([True, False, True])
h[mask] = 0.0  #C
failed = False
try:
    h.pow(2).sum().backward()  #R
except RuntimeError as e:
    failed = "inplace operation" in str(e)
print("evidence:", failed)
