# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    a = net(torch.randn(8, 3))[:, 0].pow(2).mean()
    a.backward()
    b = net(torch.randn(8, 3))[:, 1].abs().mean()
    b.backward()
    norm = sum(p.grad.pow(2).sum() for p in net.parameters()).sqrt()
    opt.step()
print("evidence:", bool(norm > 0))
