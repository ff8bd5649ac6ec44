# parameter-rewrapped | none | parameter
# evidence: True
import torch
import torch.nn as nn


class Mask(nn.Module):
    def __init__(self):
        super().__init__()
        self.logit = nn.Parameter(torch.zeros(4))

    def forward(self, x):
        m = nn.Parameter(torch.sigmoid(self.logit))  #C
        return x * m


mod = Mask()
mod(torch.ones(4)).sum().backward()
g = mod.logit.grad  #R
print("evidence:", g is None)
