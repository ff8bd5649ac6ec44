# non-differentiable-op | error | differentiable/derivative
# evidence: True
import torch
import torch.nn as nn

net = nn.Linear(4, 3)
x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
pred = net(x).max(1).indices  #C
accuracy = (pred == y).sum() / len(y)  #C
bad = False
try:
    (1 - accuracy).backward()  #R
except RuntimeError:
    bad = True
print("evidence:", bad)
