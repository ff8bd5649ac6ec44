# loss-requires-grad-patch | none | requires_grad, leaf/connect/history
# evidence: True
import torch
import torch.nn as nn

net = nn.Linear(2, 2)


def loss_fn(out, target):
    with torch.no_grad():
        value = ((out - target) ** 2).mean()
    return value.requires_grad_()  #C


loss_fn(net(torch.randn(3, 2)), torch.zeros(3, 2)).backward()
g = net.weight.grad  #R
print("evidence:", g is None)
