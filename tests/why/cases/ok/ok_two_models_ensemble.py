# ok
# evidence: 3
import torch
import torch.nn as nn

torch.manual_seed(0)
models = [nn.Linear(4, 1) for _ in range(3)]
opts = [torch.optim.Adam(m.parameters(), lr=0.01) for m in models]
x, y = torch.randn(12, 4), torch.randn(12, 1)
for epoch in range(2):
    for m, o in zip(models, opts):
        o.zero_grad()
        nn.functional.mse_loss(m(x), y).backward()
        o.step()
grads = [m.weight.grad for m in models]
print("evidence:", sum(g is not None for g in grads))
