# ok
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(10, 4)
for _ in range(3):
    grads = []
    for k in range(2):
        opt.zero_grad()
        net(x)[:, k].pow(2).mean().backward()
        grads.append(net.weight.grad.clone())
    dot = (grads[0] * grads[1]).sum()
    merged = grads[0] + grads[1]
    if dot < 0:
        merged = merged - dot / grads[1].norm() ** 2 * grads[1]
    net.weight.grad = merged
    opt.step()
print("evidence:", net.weight.grad is not None)
