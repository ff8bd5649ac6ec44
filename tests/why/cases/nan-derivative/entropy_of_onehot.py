# nan-derivative | nan | log, nan/inf
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
logits = nn.Parameter(torch.tensor([150.0, 0.0, -20.0]))
p = torch.softmax(logits, 0)
entropy = -(p * p.log()).sum()  #C
entropy.backward()
g = logits.grad  #R
print("evidence:", bool(torch.isnan(g).any()))
