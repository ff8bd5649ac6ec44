# zero-factor | zero | mask/zero
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
emb = nn.Linear(2, 3)
lengths = torch.tensor([0, 0])
mask = (torch.arange(4)[None] < lengths[:, None]).float()  #C
h = emb(torch.randn(2, 4, 2))
pooled = (h * mask[..., None]).sum(1)  #C
pooled.pow(2).sum().backward()
g = emb.weight.grad  #R
print("evidence:", bool((g == 0).all()))
