# ok
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for it in range(3):
    x = torch.rand(10, 3, requires_grad=True)
    u = net(x)
    du = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
    residual = du[:, 0] + u.squeeze() - 1
    loss = residual.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(it, x.grad.shape)
print("evidence:", net[0].weight.grad is not None)
