# ok
# evidence: True
import copy
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
swa = copy.deepcopy(net)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
n = 0
for epoch in range(4):
    opt.zero_grad()
    nn.functional.mse_loss(net(torch.randn(8, 3)), torch.zeros(8, 1)).backward()
    opt.step()
    if epoch >= 2:
        for ps, p in zip(swa.parameters(), net.parameters()):
            ps.data = (ps.data * n + p.data) / (n + 1)
        n += 1
out = swa(torch.randn(2, 3))
print("evidence:", out.requires_grad and net.weight.grad is not None)
