# ok
# evidence: tensor([[1., 1., 1.]])
import torch
import torch.nn as nn

model = nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), 0.1)
model(torch.ones(1, 2)).sum().backward()
opt.step()
probe = nn.Linear(3, 1)
probe(torch.ones(1, 3)).sum().backward()
print("evidence:", probe.weight.grad)
