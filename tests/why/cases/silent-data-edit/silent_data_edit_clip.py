# silent-data-edit | wrong-value | .data
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
x = torch.randn(4, 2)
out = net(x)
for p in net.parameters():
    p.data.clamp_(-0.01, 0.01)  #C
out.mean().backward()
g = net[0].weight.grad  #R
print("evidence:", bool(g.abs().max() < 0.05))
