# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
body, a, b = nn.Linear(3, 3), nn.Linear(3, 1), nn.Linear(3, 1)
h = torch.tanh(body(torch.randn(5, 3)))
a(h).mean().backward(retain_graph=True)
first = body.weight.grad.clone()
b(h).mean().backward()
second = body.weight.grad - first
print("evidence:", first.shape == second.shape)
