# never-required-grad | none | requires_grad, buffer/parameter/requires_grad
# evidence: True
import torch
import torch.nn as nn


class Norm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("scale", torch.ones(n))  #C
        self.shift = nn.Parameter(torch.zeros(n))

    def forward(self, x):
        return (x - x.mean()) * self.scale + self.shift


m = Norm(3)
m(torch.randn(5, 3)).pow(2).sum().backward()
g = m.scale.grad  #R
print("evidence:", g is None)
