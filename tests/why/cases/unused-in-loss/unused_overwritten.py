# unused-in-loss | none | loss
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
drop, a, b = nn.Dropout(0.1), nn.Linear(3, 3), nn.Linear(3, 3)
x = torch.randn(2, 3)
h = a(x)
h = drop(torch.relu(b(x)))
loss = h.sum()  #C
loss.backward()
g = a.weight.grad  #R
print("evidence:", g is None)
