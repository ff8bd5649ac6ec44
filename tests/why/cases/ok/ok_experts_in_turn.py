# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
experts = nn.ModuleList(nn.Linear(4, 1) for _ in range(3))
opt = torch.optim.SGD(experts.parameters(), 0.1)
for i in range(2):
    opt.zero_grad()
    experts[i](torch.randn(2, 4)).mean().backward()
    total = 0.0
    for p in experts.parameters():
        if p.grad is not None: total += p.grad.norm().item() ** 2
    opt.step()
print("evidence:", total > 0)
