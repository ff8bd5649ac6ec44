# frozen | error | requires_grad, frozen/off
# evidence: True
import torch
import torch.nn as nn


def freeze(module):
    for p in module.parameters():
        p.requires_grad = False  #C


net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
freeze(net)
out = net(torch.randn(4, 3)).mean()
err = ""
try:
    out.backward()  #R
except RuntimeError as e:
    err = str(e)
print("evidence:", "does not require grad" in err)
