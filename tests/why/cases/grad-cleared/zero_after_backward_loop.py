# grad-cleared | no-update, none | zero_grad, step
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.1)
start = net[0].weight.detach().clone()
for epoch in range(5):
    loss = net(torch.randn(8, 2)).pow(2).mean()
    loss.backward()
    net.zero_grad()  #C
    opt.step()  #R
print("evidence:", torch.equal(start, net[0].weight))
