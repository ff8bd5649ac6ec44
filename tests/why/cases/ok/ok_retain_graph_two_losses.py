# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
body, h1, h2 = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(4, 1)
opt = torch.optim.Adam([*body.parameters(), *h1.parameters(), *h2.parameters()])
for _ in range(2):
    f = torch.tanh(body(torch.randn(6, 3)))
    l1, l2 = h1(f).pow(2).mean(), h2(f).abs().mean()
    opt.zero_grad()
    l1.backward(retain_graph=True)
    l2.backward()
    opt.step()
g = body.weight.grad
print("evidence:", g is not None)
