# zero-local-derivative | zero | tanh, saturat
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
x = torch.rand(5, 3) * 1e4 + 1e4
nn.init.ones_(net[0].weight)
loss = net(x).pow(2).mean()  #C
loss.backward()
g = net[0].weight.grad  #R
print("evidence:", bool((g == 0).all()))
