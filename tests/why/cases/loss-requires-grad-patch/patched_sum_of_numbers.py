# loss-requires-grad-patch,value-copied-out | none,no-update | requires_grad, item
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
data = [(torch.randn(4, 3), torch.randn(4, 1)) for _ in range(3)]
total = 0.0
for x, y in data:
    total += nn.functional.mse_loss(net(x), y).item()  #C
loss = torch.tensor(total / len(data))
loss.requires_grad = True  #C
opt.zero_grad()
loss.backward()
opt.step()
g = net.weight.grad  #R
print("evidence:", g is None, loss.grad.item())
print("evidence:", loss.requires_grad)
