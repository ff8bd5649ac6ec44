# missing-detach | unwanted | detach/no_grad
# evidence: True
import copy
import torch
from torch import nn

torch.manual_seed(0)
online = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))
target = copy.deepcopy(online)
predictor = nn.Linear(4, 4)
opt = torch.optim.Adam([*online.parameters(), *predictor.parameters()], lr=1e-3)
a, b = torch.randn(10, 6), torch.randn(10, 6)
p = predictor(online(a))
z = target(b)  #C
loss = 2 - 2 * nn.functional.cosine_similarity(p, z, dim=-1).mean()  #C
opt.zero_grad()
loss.backward()
opt.step()
leak = target[0].weight.grad  #R
print("evidence:", leak is not None)
