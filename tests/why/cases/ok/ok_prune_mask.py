# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
lin = nn.Linear(6, 3)
mask = (torch.rand(3, 6) > 0.5).float()
opt = torch.optim.SGD(lin.parameters(), lr=0.1)
for _ in range(3):
    out = nn.functional.linear(torch.randn(8, 6), lin.weight, lin.bias)
    loss = out.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        lin.weight.mul_(mask)
print("evidence:", bool((lin.weight[mask == 0] == 0).all()))
