# loss-requires-grad-patch, grad-mode-off | none | requires_grad
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 1))


@torch.no_grad()
def predict(x):
    return net(x)  #C


pred = predict(torch.randn(4, 3))
pred.requires_grad = True  #C
loss = pred.pow(2).mean()
loss.backward()
g = net[0].weight.grad  #R
print("evidence:", g is None)
