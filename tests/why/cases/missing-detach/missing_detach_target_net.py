# missing-detach | unwanted | detach/no_grad, target
# evidence: True
import copy
import torch
import torch.nn as nn

torch.manual_seed(0)
q = nn.Linear(3, 2)
q_target = copy.deepcopy(q)
opt = torch.optim.SGD(q.parameters(), lr=0.1)
s, s2, r = torch.randn(5, 3), torch.randn(5, 3), torch.randn(5)
target = r + 0.9 * q_target(s2).max(dim=1).values  #C
loss = nn.functional.mse_loss(q(s)[:, 0], target)
opt.zero_grad()
loss.backward()
opt.step()
g = q_target.weight.grad  #R
print("evidence:", g is not None)
