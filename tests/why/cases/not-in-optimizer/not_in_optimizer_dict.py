# not-in-optimizer | no-update | optimizer, moduledict/registered/hold
# evidence: True
import torch
import torch.nn as nn


class Multi(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(3, 3)
        self.heads = {"a": nn.Linear(3, 1), "b": nn.Linear(3, 1)}  #C

    def forward(self, x):
        h = torch.tanh(self.trunk(x))
        return self.heads["a"](h) + self.heads["b"](h)


net = Multi()
opt = torch.optim.SGD(net.parameters(), lr=0.1)  #C
net(torch.randn(4, 3)).mean().backward()
opt.step()
g = net.heads["a"].weight.grad  #R
print("evidence:", g is not None)
