# hook-modified | wrong-value | hook
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
emb = nn.Linear(6, 3, bias=False)
mask = torch.ones(3, 6)
mask[:, :3] = 0
emb.weight.register_hook(lambda g: g * mask)  #C
emb(torch.randn(5, 6)).pow(2).mean().backward()
g = emb.weight.grad  #R
print("evidence:", bool((g[:, :3] == 0).all()))
