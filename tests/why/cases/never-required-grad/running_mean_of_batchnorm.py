# never-required-grad | none | buffer/requires_grad
# evidence: None False
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 1))  #C
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(32, 4), torch.randn(32, 1)
for i in range(2):
    opt.zero_grad()
    nn.functional.mse_loss(net(x), y).backward()
    opt.step()
bn = net[1]
g = bn.running_mean.grad  #R
print("evidence:", g, bn.running_mean.requires_grad)
