# inplace-saved-tensor | error | in-place/in place/inplace
# evidence: True
import torch
import torch.nn as nn


class Res(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.a = nn.Linear(n, n)
        self.b = nn.Linear(n, n)

    def forward(self, x):
        h = torch.sigmoid(self.a(x))
        g = self.b(h)
        h += x  #C
        return h + g


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), Res(4))
boom = False
try:
    net(torch.randn(5, 3)).sum().backward()  #R
except RuntimeError as e:
    boom = "modified by an inplace operation" in str(e)
print("evidence:", boom)
