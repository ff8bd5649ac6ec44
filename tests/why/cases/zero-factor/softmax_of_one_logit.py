# zero-factor, zero-local-derivative | zero | softmax, one/single/sum/constant
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1))
x, y = torch.randn(20, 4), torch.randint(0, 2, (20, 1)).float()
p = torch.softmax(net(x), dim=1)  #C
loss = nn.functional.binary_cross_entropy(p * 0.9, y)
loss.backward()
g = net[0].weight.grad  #R
print("evidence:", bool((g == 0).all()))
