# loss-requires-grad-patch | none | requires_grad, leaf/reconnect/history
# evidence: True True
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(4, 3)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(6, 4), torch.randint(0, 3, (6,))
pred = model(x).argmax(1)
loss = (pred != y).float().mean()
loss.requires_grad = True  #C
loss.backward()
opt.step()
g = model.weight.grad  #R
print("evidence:", g is None, loss.requires_grad)
