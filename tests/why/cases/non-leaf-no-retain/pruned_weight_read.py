# non-leaf-no-retain, leaf-replaced | none | leaf
# evidence: True
import warnings

import torch
import torch.nn as nn
import torch.nn.utils.prune as prune

warnings.simplefilter("ignore")
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
prune.l1_unstructured(net[0], "weight", amount=0.3)
x, y = torch.randn(10, 6), torch.randint(0, 2, (10,))
nn.functional.cross_entropy(net(x), y).backward()  #C
g = net[0].weight.grad  #R
print("evidence:", g is None and net[0].weight_orig.grad is not None)
