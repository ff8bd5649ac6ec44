# ok
# evidence: True
import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
blocks = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
opt = torch.optim.SGD(blocks.parameters(), lr=0.1)
x = torch.randn(5, 4)
for _ in range(2):
    h = x
    for b in blocks:
        h = torch.tanh(checkpoint(b, h, use_reentrant=False))
    loss = h.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("evidence:", blocks[0].weight.grad is not None)
