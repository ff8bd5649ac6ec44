# zero-factor | zero | dropout
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(1.0), nn.Linear(8, 1))
loss = net(torch.randn(5, 4)).pow(2).mean()  #C
loss.backward()
g = net[0].weight.grad  #R
print("evidence:", bool((g == 0).all()))
