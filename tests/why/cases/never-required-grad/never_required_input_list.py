# never-required-grad | none | requires_grad
# evidence: True True
import torch
import torch.nn as nn

net = nn.Linear(3, 1)
batches = [torch.randn(2, 3) for _ in range(3)]  #C
loss = sum(net(b).mean() for b in batches)
loss.backward()
g = batches[0].grad  #R
print("evidence:", g is None, net.weight.grad is not None)
