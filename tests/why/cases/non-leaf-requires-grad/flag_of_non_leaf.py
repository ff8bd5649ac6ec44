# non-leaf-requires-grad | error | leaf, detach
# evidence: True
import torch
import torch.nn as nn

enc = nn.Linear(2, 2)
z = enc(torch.randn(1, 2))  #C
failed = False
try:
    z.requires_grad = False  #R #C
except RuntimeError as e:
    failed = "leaf variables" in str(e)
print("evidence:", failed)
