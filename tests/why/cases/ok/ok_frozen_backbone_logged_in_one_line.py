# ok
# evidence: [None, None, True, True]
import torch
import torch.nn as nn

torch.manual_seed(0)
m = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1)); m[0].requires_grad_(False)
opt = torch.optim.Adam(m.parameters(), 1e-2)
for _ in range(3):
    opt.zero_grad(); m(torch.randn(4, 4)).pow(2).mean().backward(); seen = [p.grad.norm() > 0 if p.grad is not None else None for p in m.parameters()]; opt.step()
print("evidence:", [None if x is None else bool(x) for x in seen])
