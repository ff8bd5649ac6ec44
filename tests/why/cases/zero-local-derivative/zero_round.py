# zero-local-derivative | zero | round, flat/zero/0
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(3, 2)
q = torch.round(net(torch.randn(4, 3)) * 8) / 8  #C
loss = (q - 1).pow(2).mean()
loss.backward()
g = net.weight.grad  #R
print("evidence:", bool((g == 0).all()))
