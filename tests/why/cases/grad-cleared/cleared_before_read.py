# grad-cleared | none | zero_grad
# evidence: True
import torch
import torch.nn as nn

model = nn.Linear(2, 1)
opt = torch.optim.Adam(model.parameters())
for _ in range(2):
    loss = model(torch.randn(4, 2)).mean()
    loss.backward()
    opt.step()
    opt.zero_grad()  #C
g = model.weight.grad  #R
print("evidence:", g is None)
