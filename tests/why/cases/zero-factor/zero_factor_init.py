# zero-factor | zero | zero, weight/initial
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
nn.init.zeros_(net[2].weight)  #C
loss = (net(torch.randn(5, 3)) - 1).pow(2).mean()  #C
loss.backward()
g = net[0].weight.grad  #R
print("evidence:", bool((g == 0).all()))
