# ok
# evidence: True
import torch
import torch.nn as nn
import torch.nn.utils.prune as prune

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
for m in (net[0], net[2]):
    prune.l1_unstructured(m, "weight", amount=0.5)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    opt.zero_grad()
    nn.functional.cross_entropy(net(torch.randn(8, 6)), torch.randint(0, 2, (8,))).backward()
    opt.step()
print(net[0].weight_orig.grad.norm().item() > 0)
print("evidence:", float((net[0].weight == 0).float().mean()) >= 0.5)
