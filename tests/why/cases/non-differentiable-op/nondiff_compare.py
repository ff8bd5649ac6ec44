# non-differentiable-op | error | derivative/differentiable, >/comparison/gt
# evidence: True
import torch
import torch.nn as nn

net = nn.Linear(3, 1)
prob = torch.sigmoid(net(torch.randn(6, 3)))
hits = (prob > 0.5).float()  #C
loss = 1 - hits.mean()
failed = False
try:
    loss.backward()  #R
except RuntimeError:
    failed = True
print("evidence:", failed)
