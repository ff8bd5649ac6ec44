# zero-factor, zero-local-derivative | zero | dropout/zero
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 6), nn.Dropout(p=1.0), nn.Linear(6, 2))
x = torch.randn(8, 4)
loss = (net(x) - 1).pow(2).mean()  #C
loss.backward()
g = net[0].weight.grad  #R
print("evidence:", bool((g == 0).all()))
