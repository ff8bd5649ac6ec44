# detach | none | detach
# evidence: True True
import torch
import torch.nn as nn

torch.manual_seed(0)
cell = nn.RNNCell(2, 4)
init = nn.Parameter(torch.zeros(1, 4))
head = nn.Linear(4, 1)
h = init
for t in range(3):
    h = cell(torch.randn(1, 2), h.detach())  #C
loss = head(h).sum()
loss.backward()
g = init.grad  #R
print("evidence:", g is None, cell.weight_ih.grad is not None)
