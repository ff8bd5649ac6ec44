# grad-mode-off | unwanted, not-tracked | with
# evidence: True
import torch
import torch.nn as nn

net = nn.Linear(3, 2)
torch.no_grad()  #C
out = net(torch.randn(4, 3))
print("evidence:", out.requires_grad)  #R
