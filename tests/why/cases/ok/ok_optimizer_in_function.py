# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)


def fit(model, x, y, lr, steps):
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(steps):
        opt.zero_grad()
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        opt.step()
    return loss.item()


x, y = torch.randn(10, 2), torch.randn(10, 1)
results = {}
for lr in (0.1, 0.01):
    m = nn.Linear(2, 1)
    results[lr] = fit(m, x, y, lr, 5)
    print(lr, m.weight.grad.norm() > 0)
print("evidence:", len(results) == 2)
