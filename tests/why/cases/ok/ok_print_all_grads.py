# ok
# evidence: 4
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 1))
print([p.grad for p in net.parameters()])
loss = net(torch.randn(7, 3)).mean()
loss.backward()
shapes = [tuple(p.grad.shape) for p in net.parameters()]
net.zero_grad()
loss2 = net(torch.randn(7, 3)).pow(2).mean()
loss2.backward()
print("evidence:", len(shapes))
