# ok
# evidence: True True
import torch
import torch.nn as nn

torch.manual_seed(0)
G, D = nn.Linear(4, 2), nn.Linear(2, 1)
og, od = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
bce = nn.functional.binary_cross_entropy_with_logits
during = []
for _ in range(2):
    fake = G(torch.randn(8, 4))
    od.zero_grad()
    (bce(D(torch.randn(8, 2)), torch.ones(8, 1)) + bce(D(fake.detach()), torch.zeros(8, 1))).backward()
    g = G.weight.grad
    during.append(g is None)
    od.step()
    og.zero_grad()
    bce(D(fake), torch.ones(8, 1)).backward()
    og.step()
    og.zero_grad()
print("generator untouched by the discriminator step:", during)
print("evidence:", *during)
