# ok
# evidence: True
import torch
import torch.nn as nn


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, u):
        ctx.save_for_backward(u)
        return (u > 0).float()

    @staticmethod
    def backward(ctx, g):
        (u,) = ctx.saved_tensors
        return g / (1 + 10 * u.abs()) ** 2


torch.manual_seed(0)
fc = nn.Linear(5, 4)
opt = torch.optim.Adam(fc.parameters(), lr=0.01)
for _ in range(2):
    mem = torch.zeros(2, 4)
    count = 0
    for t in range(3):
        mem = 0.9 * mem + fc(torch.rand(2, 5))
        spk = Spike.apply(mem - 0.5)
        mem = mem - spk.detach() * 0.5
        count = count + spk
    loss = (count.mean() - 1) ** 2
    opt.zero_grad()
    loss.backward()
    opt.step()
g = fc.weight.grad
print("evidence:", g is not None)
