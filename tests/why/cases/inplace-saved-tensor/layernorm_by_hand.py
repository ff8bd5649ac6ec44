# inplace-saved-tensor | error | in-place/in place/inplace
# evidence: True
import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(n))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = ((x - mean) ** 2).mean(-1, keepdim=True).sqrt()
        y = (x - mean) / std
        std += 1e-5  #C
        return y * self.gamma


torch.manual_seed(0)
inp, norm = nn.Linear(3, 5), Norm(5)
loss = norm(inp(torch.randn(4, 3))).pow(3).sum()
wrong = False
try:
    loss.backward()  #R
except RuntimeError as e:
    wrong = "inplace operation" in str(e)
print("evidence:", wrong)
