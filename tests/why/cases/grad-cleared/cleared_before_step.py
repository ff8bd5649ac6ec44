# grad-cleared | no-update | zero_grad, step
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.5)
before = model.weight.detach().clone()
for _ in range(3):
    loss = model(torch.ones(4, 2)).mean()
    loss.backward()
    opt.zero_grad()  #C
    opt.step()  #R
print("evidence:", torch.equal(before, model.weight))
