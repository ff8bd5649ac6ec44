# broadcast-loss | wrong-value | broadcast/shape
# evidence: (9, 9)
import torch
from torch import nn

torch.manual_seed(0)
net = nn.Linear(2, 1)
x, y = torch.randn(9, 2), torch.randn(9)
pred = net(x)
err = y - pred  #C
loss = torch.maximum(0.9 * err, -0.1 * err).mean()
loss.backward()
g = net.weight.grad  #R
print("evidence:", tuple(err.shape))
