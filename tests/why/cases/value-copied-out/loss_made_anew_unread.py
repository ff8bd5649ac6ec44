# value-copied-out, loss-requires-grad-patch | none, no-update | copies/copied/copy/new/data/detach/numpy, graph/history
# evidence: True
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 3), torch.randn(8, 1)
w0 = model[0].weight.detach().clone()
for epoch in range(2):
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss = torch.tensor(loss, requires_grad=True)  #C
    loss.backward()  #R
    opt.step()  #R
print("evidence:", torch.equal(w0, model[0].weight))
