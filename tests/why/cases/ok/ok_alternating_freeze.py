# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1))
x, y = torch.randn(9, 3), torch.randn(9, 1)
for phase in range(4):
    active = net[0] if phase % 2 == 0 else net[2]
    for m in (net[0], net[2]):
        m.requires_grad_(m is active)
        m.zero_grad()
    opt = torch.optim.SGD(active.parameters(), lr=0.1)
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()
    g = active.weight.grad
print("evidence:", g is not None)
