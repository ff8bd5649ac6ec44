# non-differentiable-op | none | multinomial/bernoulli/sampl, derivative/differentiable
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(3, 4)
value = nn.Parameter(torch.randn(4))
probs = torch.softmax(net(torch.randn(2, 3)), dim=1)
pick = torch.multinomial(probs, 1)  #C
loss = value[pick].sum()
loss.backward()
g = net.weight.grad  #R
print("evidence:", g is None)
