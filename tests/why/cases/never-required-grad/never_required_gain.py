# never-required-grad | none | requires_grad, parameter/requires_grad
# evidence: True
import torch
import torch.nn as nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 1)
        self.gain = torch.ones(1)  #C

    def forward(self, x):
        return self.linear(x) * self.gain


model = Scaled()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.randn(8, 4)).mean().backward()
opt.step()
g = model.gain.grad  #R
print("evidence:", g is None)
