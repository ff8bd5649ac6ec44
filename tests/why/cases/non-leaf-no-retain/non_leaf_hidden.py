# non-leaf-no-retain | none | leaf, retain_grad
# evidence: True False
import torch
import torch.nn as nn

torch.manual_seed(0)
first, second = nn.Linear(4, 5), nn.Linear(5, 1)
x = torch.randn(6, 4)
hidden = torch.relu(first(x))  #C
loss = second(hidden).pow(2).mean()
loss.backward()
g = hidden.grad  #R
print("evidence:", g is None, hidden.is_leaf)
