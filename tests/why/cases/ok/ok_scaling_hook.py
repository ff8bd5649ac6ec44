# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 6), nn.ReLU(), nn.Linear(6, 1))
for p in net[0].parameters():
    p.register_hook(lambda g: g * 0.1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(20, 3), torch.randn(20, 1)
for _ in range(20):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()
print("first layer:", net[0].weight.grad.norm().item() > 0)
print("evidence:", torch.isfinite(loss).item())
