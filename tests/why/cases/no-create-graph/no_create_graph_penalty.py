# no-create-graph | wrong-value | create_graph
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
x = torch.randn(5, 2, requires_grad=True)
score = critic(x)
(gx,) = torch.autograd.grad(score.sum(), x, retain_graph=True)  #C
penalty = ((gx.norm(dim=1) - 1) ** 2).mean()
loss = score.mean() + 10 * penalty
loss.backward()
plain = torch.autograd.grad(critic(x).mean(), critic[0].weight)[0]
g = critic[0].weight.grad  #R
print("evidence:", torch.allclose(g, plain))
