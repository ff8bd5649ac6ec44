# value-copied-out | error | numpy, detach
# evidence: True
import torch
import torch.nn as nn

net = nn.Linear(2, 1)
out = net(torch.randn(3, 2))  #C
failed = False
try:
    out.numpy()  #R #C
except RuntimeError as e:
    failed = "numpy" in str(e)
print("evidence:", failed)
