# zero-local-derivative | zero | start the bias
# evidence: True
import torch
from torch import nn

layer, head = nn.Linear(3, 4), nn.Linear(4, 1)
nn.init.constant_(layer.bias, -100.0)  #C
opt = torch.optim.SGD([*layer.parameters(), *head.parameters()], lr=0.1)
for _ in range(2):
    opt.zero_grad()
    head(torch.relu(layer(torch.ones(2, 3)))).sum().backward()
    opt.step()
print("evidence:", bool((layer.weight.grad == 0).all()))  #R
