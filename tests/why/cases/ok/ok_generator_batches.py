# ok
# evidence: True 3
import torch
import torch.nn as nn

torch.manual_seed(0)


def batches(x, n):
    with torch.no_grad():
        mean, std = x.mean(0), x.std(0)
        chunks = [(c - mean) / std for c in x.chunk(n)]
    yield from chunks


data = torch.randn(12, 4)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
steps = 0
for b in batches(data, 3):
    loss = net(b).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    steps += 1
g = net.weight.grad
print("evidence:", g is not None, steps)
