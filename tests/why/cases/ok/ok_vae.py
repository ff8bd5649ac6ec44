# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
enc, dec = nn.Linear(6, 4), nn.Linear(2, 6)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()])
x = torch.rand(8, 6)
for _ in range(2):
    mu, logvar = enc(x).chunk(2, dim=1)
    z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
    recon = torch.sigmoid(dec(z))
    kl = -0.5 * (1 + logvar - mu ** 2 - logvar.exp()).sum(1).mean()
    loss = nn.functional.binary_cross_entropy(recon, x) + kl
    opt.zero_grad()
    loss.backward()
    opt.step()
    print(kl.item() > -1)
print("evidence:", enc.weight.grad is not None)
