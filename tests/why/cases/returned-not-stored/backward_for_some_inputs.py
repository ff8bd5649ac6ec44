# returned-not-stored | none | inputs
# evidence: True False
import torch
import torch.nn as nn

torch.manual_seed(0)
a, b = nn.Linear(3, 3), nn.Linear(3, 1)
x = torch.randn(4, 3)
loss = b(torch.relu(a(x))).mean()
loss.backward(inputs=list(b.parameters()))  #C
print("evidence:", a.weight.grad is None, b.weight.grad is None)  #R
