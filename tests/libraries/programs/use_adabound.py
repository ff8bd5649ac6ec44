import torch
from adabound import AdaBound
from madgrad import MADGRAD
from came_pytorch import CAME

for make in (lambda p: AdaBound(p, lr=1e-2, final_lr=0.1), lambda p: MADGRAD(p, lr=1e-2), lambda p: CAME(p, lr=1e-2)):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.Tanh(), torch.nn.Linear(12, 1))
    optimizer, x = make(model.parameters()), torch.randn(16, 6)
    for _ in range(6):
        optimizer.zero_grad()
        loss = (model(x)[:, 0] - x.sum(1)).square().mean()
        loss.backward()
        optimizer.step()
    print(type(optimizer).__name__, loss.item())
