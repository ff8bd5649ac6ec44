# nan-derivative | nan | nan, div/mean//
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
head = nn.Linear(4, 1)
x = torch.randn(6, 4)
valid = torch.zeros(6)
per_item = head(x).squeeze(1).pow(2)
loss = (per_item * valid).sum() / valid.sum()  #C
loss.backward()
g = head.weight.grad  #R
print("evidence:", bool(torch.isnan(g).all()))
