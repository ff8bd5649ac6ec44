# never-required-grad, detach | none | requires_grad
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
decoder = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 8))
decoder.requires_grad_(False)
code = nn.Embedding(4, 2).weight.data[1].clone()  #C
bias = nn.Parameter(torch.zeros(8))
target = torch.randn(8)
loss = (decoder(code) + bias - target).pow(2).mean()
loss.backward()
g = code.grad  #R
print("evidence:", g is None)
