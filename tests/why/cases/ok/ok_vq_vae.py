# ok
# evidence: True True
import torch
import torch.nn as nn

torch.manual_seed(0)
enc, dec, book = nn.Linear(6, 3), nn.Linear(3, 6), nn.Embedding(8, 3)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters(), *book.parameters()], lr=1e-3)
x = torch.randn(10, 6)
for _ in range(2):
    z = enc(x)
    idx = torch.cdist(z, book.weight).argmin(1)
    zq = book(idx)
    commit = (z - zq.detach()).pow(2).mean()
    codebook = (zq - z.detach()).pow(2).mean()
    zs = z + (zq - z).detach()
    loss = (dec(zs) - x).pow(2).mean() + codebook + 0.25 * commit
    opt.zero_grad()
    loss.backward()
    opt.step()
print("evidence:", enc.weight.grad is not None, book.weight.grad is not None)
