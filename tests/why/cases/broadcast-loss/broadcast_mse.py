# broadcast-loss | wrong-value | broadcast/shape, [10]/[10, 1]/(10, 1)/(10,)
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(2, 1)
x, y = torch.randn(10, 2), torch.randn(10)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
loss = nn.MSELoss()(model(x), y)  #C
opt.zero_grad()
loss.backward()
opt.step()
g = model.weight.grad  #R
print("evidence:", g is not None)
