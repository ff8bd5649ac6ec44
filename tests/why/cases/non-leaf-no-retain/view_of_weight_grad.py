# non-leaf-no-retain | none | leaf
# evidence: True True
import torch
import torch.nn as nn

layer = nn.Linear(4, 3)
row = layer.weight[1]  #C
loss = layer(torch.ones(2, 4)).sum()
loss.backward()
g = row.grad  #R
print("evidence:", g is None, layer.weight.grad is not None)
