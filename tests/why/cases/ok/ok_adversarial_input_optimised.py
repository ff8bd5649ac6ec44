# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
delta = torch.zeros(4, requires_grad=True)
opt = torch.optim.Adam([delta], lr=0.05)
x = torch.randn(4)
for _ in range(5):
    opt.zero_grad()
    loss = -net(x + delta)[1] + delta.norm()
    loss.backward()
    opt.step()
    with torch.no_grad():
        delta.clamp_(-0.1, 0.1)
print("evidence:", delta.grad is not None)
