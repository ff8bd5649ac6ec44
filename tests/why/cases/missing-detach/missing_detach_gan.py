# missing-detach | unwanted | detach
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
G, D = nn.Linear(2, 3), nn.Linear(3, 1)
opt_g = torch.optim.Adam(G.parameters())
opt_d = torch.optim.Adam(D.parameters())
bce = nn.BCEWithLogitsLoss()
real, ones, zeros = torch.randn(4, 3), torch.ones(4, 1), torch.zeros(4, 1)

fake = G(torch.randn(4, 2))
opt_d.zero_grad()
d_loss = bce(D(real), ones) + bce(D(fake), zeros)  #C
d_loss.backward()
g = G.weight.grad  #R
opt_d.step()

opt_g.zero_grad()
bce(D(G(torch.randn(4, 2))), ones).backward()
opt_g.step()
print("evidence:", g is not None)
