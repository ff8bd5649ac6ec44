# value-copied-out, loss-requires-grad-patch | none | item/requires_grad, history/graph/leaf
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
total = 0.0
for xb in torch.randn(3, 4, 2):
    total += net(xb).pow(2).mean().item()  #C
loss = torch.tensor(total, requires_grad=True)  #C
opt.zero_grad()
loss.backward()
opt.step()
g = net.weight.grad  #R
print("evidence:", g is None)
