# ok
# evidence: 4
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
noise = []
for _ in range(4):
    opt.zero_grad()
    model(torch.randn(8, 3)).pow(2).mean().backward()
    noise.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
print("evidence:", len(noise))
