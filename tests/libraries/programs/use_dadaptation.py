import torch
from dadaptation import DAdaptAdaGrad, DAdaptAdam, DAdaptSGD
from prodigyopt import Prodigy

for make in (DAdaptAdam, DAdaptSGD, Prodigy, lambda p, lr: DAdaptAdaGrad(p, lr=lr, eps=1e-8)):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.Tanh(), torch.nn.Linear(12, 1))
    optimizer, x = make(model.parameters(), lr=1.0), torch.randn(16, 6)
    for _ in range(8):
        optimizer.zero_grad()
        loss = (model(x)[:, 0] - x.sum(1)).square().mean()
        loss.backward()
        optimizer.step()
    print(type(optimizer).__name__, loss.item(), optimizer.param_groups[0]["d"])
