# step-missing | no-update | step
# evidence: True
import torch
import torch.nn as nn
torch.manual_seed(0)
def train(model, steps=5):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    for _ in range(steps):
        opt.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        opt.step()
def train2(model, steps=5):
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    for _ in range(steps):
        opt.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()  #R #C
a, b = nn.Linear(3, 1), nn.Linear(3, 1)
train(a)
before = b.weight.detach().clone()
train2(b)
print("evidence:", torch.equal(before, b.weight))
