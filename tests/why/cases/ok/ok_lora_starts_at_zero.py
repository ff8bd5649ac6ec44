# ok
# evidence: [False, True, True]
import torch
import torch.nn as nn

torch.manual_seed(0)
base = nn.Linear(6, 6)
base.requires_grad_(False)
down, up = nn.Parameter(torch.randn(2, 6) * 0.1), nn.Parameter(torch.zeros(6, 2))
opt = torch.optim.AdamW([down, up], 1e-2)
x, y = torch.randn(16, 6), torch.randn(16, 6)
moving = []
for _ in range(3):
    opt.zero_grad()
    (base(x) + x @ down.T @ up.T - y).pow(2).mean().backward()
    moving.append(bool(down.grad.norm() > 0))
    opt.step()
print("evidence:", moving)
