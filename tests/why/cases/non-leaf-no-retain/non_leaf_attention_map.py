# non-leaf-no-retain | none | leaf, retain_grad
# evidence: True
import torch
import torch.nn as nn


class Attention(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.q = nn.Linear(size, size)
        self.k = nn.Linear(size, size)
        self.v = nn.Linear(size, size)
        self.weights = None

    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(-1, -2)
        self.weights = torch.softmax(scores, dim=-1)  #C
        return self.weights @ self.v(x)


layer = Attention(4)
layer(torch.randn(2, 3, 4)).sum().backward()
g = layer.weights.grad  #R
print("evidence:", g is None)
