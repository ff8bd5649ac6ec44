# zero-factor | zero | zero
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
A = nn.Parameter(torch.randn(4, 2))
B = nn.Parameter(torch.zeros(2, 3))  #C
x = torch.randn(5, 4)
out = x @ A @ B  #C
(out - 1).pow(2).mean().backward()
g = A.grad  #R
print("evidence:", bool((g == 0).all()))
