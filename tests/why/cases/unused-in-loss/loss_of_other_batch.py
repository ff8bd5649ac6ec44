# unused-in-loss | none | loss
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
enc_a, enc_b, head = nn.Linear(3, 4), nn.Linear(3, 4), nn.Linear(4, 2)
x, y = torch.randn(6, 3), torch.randint(0, 2, (6,))
za, zb = enc_a(x), enc_b(x)
fused = torch.stack([za, zb]).mean(0)
logits = head(za)
loss = nn.functional.cross_entropy(logits, y)  #C
loss.backward()
g = enc_b.weight.grad  #R
print("evidence:", g is None)
