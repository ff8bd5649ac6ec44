# ok
# evidence: True True
import io

import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
x, y = torch.randn(12, 3), torch.randn(12, 1)


def train(net, opt, steps):
    for _ in range(steps):
        opt.zero_grad()
        nn.functional.mse_loss(net(x), y).backward()
        opt.step()


train(net, opt, 3)
buffer = io.BytesIO()
torch.save({"model": net.state_dict(), "opt": opt.state_dict()}, buffer)
buffer.seek(0)
ckpt = torch.load(buffer)
net2 = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))
opt2 = torch.optim.Adam(net2.parameters(), lr=1e-2)
net2.load_state_dict(ckpt["model"])
opt2.load_state_dict(ckpt["opt"])
fresh = net2[0].weight.grad is None
train(net2, opt2, 3)
train(net, opt, 3)
print("evidence:", fresh, torch.allclose(net[0].weight, net2[0].weight))
