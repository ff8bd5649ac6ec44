# ok
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
meta = torch.optim.SGD(model.parameters(), lr=0.05)
for task in range(3):
    x, y = torch.randn(6, 3), torch.randn(6, 1)
    fast = {n: p for n, p in model.named_parameters()}
    for _ in range(2):
        loss = nn.functional.mse_loss(torch.func.functional_call(model, fast, x), y)
        grads = torch.autograd.grad(loss, list(fast.values()))
        fast = {n: p - 0.1 * g for (n, p), g in zip(fast.items(), grads)}
    outer = nn.functional.mse_loss(torch.func.functional_call(model, fast, x), y)
    meta.zero_grad()
    outer.backward()
    meta.step()
print("evidence:", model.weight.grad is not None)
