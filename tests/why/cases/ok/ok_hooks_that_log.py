# ok
# evidence: 2
import torch
import torch.nn as nn

torch.manual_seed(0)
seen = []
net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
net[0].weight.register_hook(lambda g: seen.append(g.norm().item()))
net[2].register_full_backward_hook(lambda m, gi, go: seen.append(go[0].norm().item()) or None)
net(torch.randn(3, 2)).sum().backward()
g = net[0].weight.grad
print("evidence:", len(seen))
