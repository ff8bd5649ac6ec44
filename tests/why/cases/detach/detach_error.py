# detach | error | detach
# evidence: True
import torch
import torch.nn as nn

net = nn.Linear(2, 1)
pred = net(torch.randn(3, 2)).detach()  #C
loss = (pred - 1).pow(2).mean()
failed = False
try:
    loss.backward()  #R
except RuntimeError as e:
    failed = "does not require grad" in str(e)
print("evidence:", failed)
