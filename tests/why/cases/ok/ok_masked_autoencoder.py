# ok
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
enc, dec = nn.Linear(8, 5), nn.Linear(5, 8)
opt = torch.optim.AdamW([*enc.parameters(), *dec.parameters()], lr=1e-3)
x = torch.randn(16, 8)
for _ in range(3):
    mask = (torch.rand_like(x) > 0.5).float()
    rec = dec(torch.nn.functional.gelu(enc(x * mask)))
    loss = (((rec - x) ** 2) * (1 - mask)).sum() / (1 - mask).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
g = enc.weight.grad
print("evidence:", g is not None)
