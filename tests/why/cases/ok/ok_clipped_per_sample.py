# ok
# evidence: False
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(4, 2)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.randn(5, 4), torch.randint(0, 2, (5,))
for it in range(2):
    sums = [torch.zeros_like(p) for p in net.parameters()]
    for i in range(5):
        net.zero_grad()
        nn.functional.cross_entropy(net(x[i:i + 1]), y[i:i + 1]).backward()
        norm = torch.sqrt(sum((p.grad ** 2).sum() for p in net.parameters()))
        factor = (1.0 / (norm + 1e-6)).clamp(max=1.0)
        for s, p in zip(sums, net.parameters()):
            s += p.grad * factor
    for s, p in zip(sums, net.parameters()):
        p.grad = (s + 0.1 * torch.randn_like(s)) / 5
    opt.step()
    opt.zero_grad()
print(net.weight.requires_grad, norm.requires_grad)
print("evidence:", norm.requires_grad)
