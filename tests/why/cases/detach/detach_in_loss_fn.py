# detach | error | detach
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)


def contrastive(a, b):
    a, b = a.detach(), b.detach()  #C
    return 1 - torch.cosine_similarity(a, b).mean()


enc = nn.Linear(6, 3)
loss = contrastive(enc(torch.randn(4, 6)), enc(torch.randn(4, 6)))
crash = None
try:
    loss.backward()  #R
except RuntimeError as e:
    crash = str(e)
print("evidence:", crash is not None)
