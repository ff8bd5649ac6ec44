# unused-in-loss | none | loss, not/no
# evidence: True
import torch
import torch.nn as nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.small = nn.Linear(2, 1)
        self.large = nn.Linear(2, 1)

    def forward(self, x):
        if x.abs().mean() > 100:
            return self.large(x)
        return self.small(x)  #C


m = Gate()
loss = m(torch.randn(4, 2)).mean()  #C
loss.backward()
g = m.large.weight.grad  #R
print("evidence:", g is None)
