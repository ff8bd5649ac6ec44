# value-copied-out | error | torch.tensor/item/number, graph/history
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(2, 1)
parts = []
for chunk in torch.randn(3, 5, 2):
    parts.append(net(chunk).pow(2).mean().item())  #C
loss = torch.tensor(parts).mean()  #C
stopped = False
try:
    loss.backward()  #R
except RuntimeError:
    stopped = True
print("evidence:", stopped)
