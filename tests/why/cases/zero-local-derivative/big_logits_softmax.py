# zero-local-derivative | zero | softmax/saturat
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
proj = nn.Linear(4, 3)
with torch.no_grad():
    proj.weight.mul_(1e4)  #C
x = torch.randn(6, 4)
attn = torch.softmax(proj(x), dim=-1)  #C
value = torch.tensor([1.0, 2.0, 3.0])
out = (attn * value).sum(-1)
out.mean().backward()
g = proj.weight.grad  #R
print("evidence:", bool((g == 0).all()))
