# zero-local-derivative, zero-factor | zero | softmax
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(5, 1)
x = torch.randn(6, 5)
prob = torch.softmax(net(x), dim=1)  #C
loss = nn.functional.binary_cross_entropy(prob, torch.zeros(6, 1) + 0.5)
loss.backward()
g = net.weight.grad  #R
print("evidence:", bool((g == 0).all()))
