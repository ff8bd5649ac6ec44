# ok
# evidence: ['0.weight', '0.bias']
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
for p in net[0].parameters():
    p.requires_grad = False
opt = torch.optim.Adam(filter(lambda p: p.requires_grad, net.parameters()), lr=1e-2)
x, y = torch.randn(16, 4), torch.randint(0, 2, (16,))
for _ in range(3):
    opt.zero_grad()
    nn.functional.cross_entropy(net(x), y).backward()
    opt.step()
without = []
for name, p in net.named_parameters():
    g = p.grad
    if g is None:
        without.append(name)
print("evidence:", without)
