# zero-local-derivative | zero | sigmoid, saturat
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
gate = nn.Linear(3, 3)
nn.init.constant_(gate.bias, 60.0)
x = torch.rand(5, 3)
g = torch.sigmoid(gate(x))  #C
(g * x).sum().backward()
grad = gate.weight.grad  #R
print("evidence:", bool((grad == 0).all()))
