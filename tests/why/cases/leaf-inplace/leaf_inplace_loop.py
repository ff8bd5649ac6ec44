# leaf-inplace | error | leaf, no_grad
# evidence: True
import torch
import torch.nn as nn

net = nn.Linear(2, 1)
net(torch.ones(1, 2)).sum().backward()
failed = False
for p in net.parameters():
    try:
        p -= 0.1 * p.grad  #R #C
    except RuntimeError:
        failed = True
print("evidence:", failed)
