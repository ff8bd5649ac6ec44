# ok
# evidence: True True
import copy

import torch
import torch.nn as nn

torch.manual_seed(0)
q = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
q_target = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
s, s2, r = torch.randn(16, 4), torch.randn(16, 4), torch.rand(16)
a = torch.randint(0, 2, (16, 1))
for step in range(3):
    with torch.no_grad():
        y = r + 0.95 * q_target(s2).max(dim=1).values
    loss = nn.functional.mse_loss(q(s).gather(1, a).squeeze(1), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for t, p in zip(q_target.parameters(), q.parameters()):
            t.lerp_(p, 0.05)
g = q_target[0].weight.grad
print("target gradient:", g)
print("evidence:", g is None, q[0].weight.grad is not None)
