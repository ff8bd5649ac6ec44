# zero-local-derivative | no-update | relu, zero
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1), nn.ReLU())
nn.init.constant_(net[2].bias, -10.0)  #C
opt = torch.optim.SGD(net.parameters(), 0.1)
x, y = torch.randn(8, 4), torch.rand(8, 1)
losses = []
for _ in range(5):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)  #C
    loss.backward()
    opt.step()  #R
    losses.append(loss.item())
print("evidence:", losses[0] == losses[-1])
