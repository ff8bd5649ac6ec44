# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
trunk, a, b = nn.Linear(5, 6), nn.Linear(6, 1), nn.Linear(6, 1)
x = torch.randn(9, 5)
h = torch.relu(trunk(x))
la, lb = a(h).mean(), b(h).pow(2).mean()
la.backward(retain_graph=True)
ga = trunk.weight.grad.clone()
trunk.zero_grad()
lb.backward()
gb = trunk.weight.grad
cos = nn.functional.cosine_similarity(ga.flatten(), gb.flatten(), dim=0)
print("cosine of task gradients:", cos.item())
print("evidence:", bool(cos.abs() <= 1))
