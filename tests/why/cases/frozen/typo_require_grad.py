# frozen | unwanted | requires_grad
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
for p in net[0].parameters():
    p.require_grad = False  #C
net(torch.ones(1, 2)).sum().backward()
g = net[0].weight.grad  #R
print("evidence:", g is not None)
