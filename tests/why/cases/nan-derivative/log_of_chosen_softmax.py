# nan-derivative | nan | log_softmax(x), cross_entropy
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(4, 3)
x, y = torch.randn(8, 4) * 2000, torch.tensor([0, 1, 2, 0, 1, 2, 0, 1])
p = torch.softmax(net(x), 1)
loss = -torch.log(p[range(8), y]).mean()  #C
loss.backward()
print("evidence:", bool(net.weight.grad.isnan().any()))  #R
