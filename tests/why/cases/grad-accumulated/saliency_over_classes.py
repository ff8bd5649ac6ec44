# grad-accumulated | wrong-value | accumulat/add, none/zero/clear
# evidence: False
import torch
from torch import nn

torch.manual_seed(0)
clf = nn.Linear(5, 3)
x = torch.randn(1, 5, requires_grad=True)
logits = clf(x)
maps = []
for c in range(3):
    logits[0, c].backward(retain_graph=True)  #C
    maps.append(x.grad.clone())  #R
print("evidence:", torch.allclose(maps[2], clf.weight[2:3]))
