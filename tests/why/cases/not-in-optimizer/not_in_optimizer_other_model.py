# not-in-optimizer | no-update | optimizer
# evidence: True True
import torch
import torch.nn as nn

torch.manual_seed(0)
old, new = nn.Linear(2, 1), nn.Linear(2, 1)
opt = torch.optim.SGD(old.parameters(), lr=0.1)  #C
before = new.weight.detach().clone()
for _ in range(3):
    opt.zero_grad()
    new(torch.randn(4, 2)).pow(2).mean().backward()
    opt.step()
g = new.weight.grad  #R
print("evidence:", g is not None, torch.equal(before, new.weight))
