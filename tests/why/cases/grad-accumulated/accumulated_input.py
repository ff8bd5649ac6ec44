# grad-accumulated | wrong-value | accumulat/add, none/zero/clear
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
x = torch.randn(2, 3, requires_grad=True)
norms = []
for _ in range(3):
    net.zero_grad()
    net(x).sum().backward()  #C
    norms.append(x.grad.abs().sum().item())  #R
print("evidence:", norms[2] > 2.9 * norms[0])
