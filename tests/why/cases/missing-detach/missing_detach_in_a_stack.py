# missing-detach | unwanted | detach/item
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
curve = []
for _ in range(4):
    loss = net(torch.randn(5, 3)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    curve.append(loss)  #C
mean = torch.stack(curve).mean()
print("mean loss needs grad:", mean.requires_grad)  #R
print("evidence:", mean.requires_grad)
