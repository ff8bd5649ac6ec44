# not-in-optimizer | no-update | optimizer
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 1)

    def reset(self):
        self.fc.weight = nn.Parameter(torch.zeros(1, 2))  #C

    def forward(self, x):
        return self.fc(x)


net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.1)  #C
net.reset()
for _ in range(2):
    opt.zero_grad()
    (net(torch.ones(3, 2)) - 1).pow(2).mean().backward()
    opt.step()
g = net.fc.weight.grad  #R
print("evidence:", bool((net.fc.weight == 0).all()))
