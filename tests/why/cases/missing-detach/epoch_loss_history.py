# missing-detach | unwanted | detach/item
# evidence: [True, True, True]
import torch
from torch import nn

net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
history = []
for epoch in range(3):
    loss = net(torch.randn(8, 2)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    history.append(loss)  #C
attached = [h.requires_grad for h in history]  #R
print("evidence:", attached)
