# stale-grad-after-freeze | stale | requires_grad, stale/left over/earlier
# evidence: False True
import torch
from torch import nn

torch.manual_seed(0)
trunk, top = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*trunk.parameters(), *top.parameters()], lr=0.1)
data, target = torch.randn(10, 4), torch.randn(10, 1)


def train(epochs):
    for _ in range(epochs):
        for p in top.parameters():
            p.grad = None
        out = top(torch.relu(trunk(data)))
        nn.functional.mse_loss(out, target).backward()
        optimizer.step()


train(1)
for p in trunk.parameters():
    p.requires_grad = False  #C
before = trunk.weight.clone()
train(1)
moved = not torch.equal(before, trunk.weight)
left = trunk.weight.grad  #R
print("evidence:", trunk.weight.requires_grad, moved and left is not None)
