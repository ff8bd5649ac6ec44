# broadcast-loss | wrong-value | broadcast/shape
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
q = nn.Linear(4, 1)
opt = torch.optim.Adam(q.parameters(), lr=1e-2)
obs, goal = torch.randn(12, 4), torch.randn(12)
for _ in range(2):
    loss = nn.functional.smooth_l1_loss(q(obs), goal)  #C
    opt.zero_grad()
    loss.backward()
    grad = q.weight.grad  #R
    opt.step()
print("evidence:", grad is not None)
