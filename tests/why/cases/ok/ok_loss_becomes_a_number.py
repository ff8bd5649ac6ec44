# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
hist = []
for i in range(4):
    try:
        loss = nn.functional.mse_loss(net(torch.randn(8, 3)), torch.randn(8, 1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        loss = loss.item()
    except RuntimeError:
        raise
    hist.append(loss)
print("evidence:", len(hist) == 4)
