# missing-detach | unwanted | detach/item, graph/history
# evidence: True
import torch
import torch.nn as nn

net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
total = 0
for _ in range(3):
    loss = net(torch.randn(4, 2)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    total = total + loss  #C
flag = total.requires_grad  #R
print("evidence:", flag)
