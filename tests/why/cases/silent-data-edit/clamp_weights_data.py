# silent-data-edit | wrong-value | .data
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(2, 4, bias=False), nn.Linear(4, 1, bias=False))
x = torch.randn(8, 2)
score = critic(x).mean()
true = torch.autograd.grad(score, critic[0].weight, retain_graph=True)[0]
for p in critic.parameters():
    p.data.clamp_(-0.01, 0.01)  #C
score.backward()
g = critic[0].weight.grad  #R
print("evidence:", not torch.allclose(g, true))
