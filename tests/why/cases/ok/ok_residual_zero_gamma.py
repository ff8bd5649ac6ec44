# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.f = nn.Linear(d, d)
        self.gamma = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return x + self.gamma * torch.tanh(self.f(x))


net = nn.Sequential(Block(4), Block(4), nn.Linear(4, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for _ in range(4):
    opt.zero_grad()
    net(torch.randn(8, 4)).pow(2).mean().backward()
    opt.step()
print("evidence:", net[0].gamma.grad is not None)
