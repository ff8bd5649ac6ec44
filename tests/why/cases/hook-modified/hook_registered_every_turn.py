# hook-modified | wrong-value | hook
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.0)
x = torch.randn(8, 3)
norms = []
for epoch in range(4):
    net.weight.register_hook(lambda g: g * 0.5)  #C
    opt.zero_grad()
    net(x).mean().backward()
    norms.append(net.weight.grad.norm().item())  #R
    opt.step()
print("evidence:", norms[3] < 0.2 * norms[0])
