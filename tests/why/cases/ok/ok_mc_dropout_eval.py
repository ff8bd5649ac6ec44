# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 1))
net.eval()
x = torch.randn(4, 3, requires_grad=True)
out = net(x).sum()
out.backward()
saliency = x.grad.abs()
print("evidence:", bool((saliency >= 0).all()))
