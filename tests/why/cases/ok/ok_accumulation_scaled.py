# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
data = torch.randn(16, 2, 4)
accumulate = 4
opt.zero_grad()
norms = []
for i, batch in enumerate(data):
    loss = net(batch).pow(2).mean() / accumulate
    loss.backward()
    norms.append(net.weight.grad.norm().item())
    if (i + 1) % accumulate == 0:
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        opt.zero_grad()
print("evidence:", len(norms) == 16)
