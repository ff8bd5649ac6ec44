# missing-detach | unwanted | detach/no_grad/item
# evidence: True
import torch
import torch.nn as nn

net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
avg = None
for step in range(4):
    loss = net(torch.randn(6, 2)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    avg = loss if avg is None else 0.9 * avg + 0.1 * loss  #C
flag = avg.requires_grad  #R
print("evidence:", flag)
