# no-backward | no-update | backward
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
before = net.weight.detach().clone()
for _ in range(3):
    loss = net(torch.randn(4, 2)).pow(2).mean()
    opt.step()  #R #C
print("evidence:", torch.equal(before, net.weight))
