# zero-local-derivative | zero | hardtanh
# evidence: True
import torch
import torch.nn as nn

act = nn.Hardtanh()
z = torch.tensor([3.0, -4.0], requires_grad=True)
act(z).sum().backward()  #C
g = z.grad  #R
print("evidence:", bool((g == 0).all()))
