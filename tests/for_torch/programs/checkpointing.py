import torch
import torch.nn as nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

torch.manual_seed(0)
calls = 0


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.line = nn.Linear(4, 4)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        global calls
        calls += 1
        return self.drop(torch.relu(self.line(x)))


for reentrant in (True, False):
    blocks = nn.Sequential(Block(), Block(), Block())
    x = torch.randn(2, 4, requires_grad=True)
    y = x
    for block in blocks:
        y = checkpoint(block, y, use_reentrant=reentrant)
    y.sum().backward()
    checkpoint_sequential(blocks, 2, x, use_reentrant=reentrant).sum().backward()
    print(reentrant, calls, x.grad, blocks[0].line.weight.grad.sum().item())
print(torch.rand(2))
with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t * 1):
    (x * x).sum().backward()
with torch.autograd.graph.save_on_cpu():
    (x * x).sum().backward()
print(x.grad)
