# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
G, C = nn.Linear(3, 2), nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
og, oc = torch.optim.RMSprop(G.parameters(), lr=5e-5), torch.optim.RMSprop(C.parameters(), lr=5e-5)
for it in range(3):
    for _ in range(2):
        oc.zero_grad()
        fake = G(torch.randn(8, 3)).detach()
        lossC = C(fake).mean() - C(torch.randn(8, 2)).mean()
        lossC.backward()
        oc.step()
        for p in C.parameters():
            p.data.clamp_(-0.01, 0.01)
    og.zero_grad()
    lossG = -C(G(torch.randn(8, 3))).mean()
    lossG.backward()
    og.step()
g = G.weight.grad
print("evidence:", g is not None)
