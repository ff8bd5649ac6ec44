# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
x, y = torch.randn(10, 3), torch.randn(10, 1)
net[0].requires_grad_(False)
for epoch in range(4):
    if epoch == 2:
        net[0].requires_grad_(True)
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()
g = net[0].weight.grad
print("evidence:", g is not None)
