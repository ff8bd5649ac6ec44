# frozen, never-required-grad | none | requires_grad
# evidence: True
import torch
from torch import nn


class Blend(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Parameter(torch.tensor(0.5), requires_grad=False)  #C
        self.a = nn.Linear(2, 1)
        self.b = nn.Linear(2, 1)

    def forward(self, x):
        return self.mix * self.a(x) + (1 - self.mix) * self.b(x)


m = Blend()
m(torch.randn(3, 2)).sum().backward()
g = m.mix.grad  #R
print("evidence:", g is None)
