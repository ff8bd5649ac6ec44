# parameter-rewrapped, unused-in-loss | none | copy
# evidence: True True
import copy
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(2, 1)
fast = copy.deepcopy(net)  #C
loss = fast(torch.randn(4, 2)).pow(2).mean()  #C
loss.backward()
g = net.weight.grad  #R
print("evidence:", g is None, fast.weight.grad is not None)
