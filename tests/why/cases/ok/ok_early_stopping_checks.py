# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
patience, best = 2, 1e9
for epoch in range(10):
    out = net(torch.randn(8, 2))
    loss = out.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    total = 0.0
    for p in net.parameters():
        if p.grad is None:
            continue
        total += p.grad.norm().item() ** 2
    opt.step()
    if loss.item() > best:
        patience -= 1
        if patience == 0:
            break
    best = min(best, loss.item())
print("evidence:", total >= 0)
