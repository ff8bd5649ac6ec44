# grad-cleared | none | zero_grad
# evidence: True
import torch
import torch.nn as nn

net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))


def train_step(batch):
    loss = net(batch).pow(2).mean()
    loss.backward()
    net.zero_grad()  #C
    return loss.item()


train_step(torch.randn(3, 2))
norms = [p.grad for p in net.parameters()]  #R
print("evidence:", all(n is None for n in norms))
