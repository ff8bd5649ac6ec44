# gradient-shape-mismatch | error | shape, broadcast/same shape
# evidence: True
import torch
import torch.nn as nn

net = nn.Linear(2, 3)
out = net(torch.randn(4, 2))
weights = torch.tensor([1.0, 0.5, 0.25])
failed = False
try:
    out.backward(gradient=weights)  #R #C
except RuntimeError as e:
    failed = True
print("evidence:", failed)
