# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
enc, dec = nn.Linear(3, 2), nn.Linear(2, 3)
x = torch.randn(4, 3)
z = enc(x)
z_q = torch.round(z)
z_st = z + (z_q - z).detach()
loss = (dec(z_st) - x).pow(2).mean() + 0.25 * (z - z_q.detach()).pow(2).mean()
loss.backward()
g = enc.weight.grad
print("evidence:", g is not None)
