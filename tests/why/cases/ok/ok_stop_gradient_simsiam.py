# ok
# evidence: True True
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
f = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 4))
h = nn.Linear(4, 4)
opt = torch.optim.SGD([*f.parameters(), *h.parameters()], lr=0.05)


def D(p, z):
    return -F.cosine_similarity(p, z.detach(), dim=-1).mean()


for _ in range(2):
    x1, x2 = torch.randn(8, 6), torch.randn(8, 6)
    z1, z2 = f(x1), f(x2)
    p1, p2 = h(z1), h(z2)
    loss = D(p1, z2) / 2 + D(p2, z1) / 2
    opt.zero_grad()
    loss.backward()
    opt.step()
print("evidence:", f[0].weight.grad is not None, h.weight.grad is not None)
