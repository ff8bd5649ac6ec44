# not-in-optimizer | no-update | optimizer
# evidence: True
import copy
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)  #C
model = copy.deepcopy(model)  #C
before = model.weight.detach().clone()
for _ in range(3):
    model.zero_grad()
    model(torch.randn(6, 3)).pow(2).mean().backward()
    opt.step()
g = model.weight.grad  #R
print("evidence:", torch.equal(before, model.weight))
