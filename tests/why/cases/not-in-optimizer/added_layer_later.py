# not-in-optimizer | no-update | optimizer
# evidence: True True
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
opt = torch.optim.Adam(net.parameters(), lr=0.01)  #C
net.add_module("out", nn.Linear(3, 1))  #C
start = net.out.weight.detach().clone()
for i in range(3):
    opt.zero_grad()
    net(torch.randn(5, 3)).mean().backward()
    opt.step()
grad = net.out.weight.grad  #R
print("evidence:", grad is not None, torch.equal(start, net.out.weight))
