# inplace-saved-tensor | error | in-place/in place/inplace, step
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
G, D = nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
og = torch.optim.SGD(G.parameters(), lr=0.1)
od = torch.optim.SGD(D.parameters(), lr=0.1)
fake = G(torch.randn(4, 2))
score = D(fake)
d_loss, g_loss = score.mean(), -score.mean()
d_loss.backward(retain_graph=True)
od.step()  #C
failed = False
try:
    g_loss.backward()  #R
except RuntimeError as e:
    failed = "inplace" in str(e)
og.step()
print("evidence:", failed)
