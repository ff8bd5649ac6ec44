# ok
# evidence: False
import torch
import torch.nn as nn

torch.manual_seed(0)


def project(z, steps=20):
    z = z.detach().clone().requires_grad_(True)
    opt = torch.optim.Adam([z], lr=0.1)
    for _ in range(steps):
        opt.zero_grad()
        ((z ** 2).sum(-1) - 1).pow(2).sum().backward()
        opt.step()
    return z.detach()


def evaluate(model, x):
    model.eval()
    with torch.no_grad():
        return model(x).mean().item()


net = nn.Linear(3, 1)
for _ in range(2):
    z = project(torch.randn(4, 3))
    print(evaluate(net, z), z.requires_grad)
print("evidence:", z.requires_grad)
