# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
energy = nn.Sequential(nn.Linear(2, 16), nn.SiLU(), nn.Linear(16, 1))
opt = torch.optim.Adam(energy.parameters(), lr=1e-3)
for it in range(2):
    x = torch.randn(8, 2)
    for _ in range(3):
        x.requires_grad_(True)
        g, = torch.autograd.grad(energy(x).sum(), x)
        x = (x - 0.1 * g + 0.05 * torch.randn_like(x)).detach()
    loss = energy(torch.randn(8, 2)).mean() - energy(x).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print("evidence:", energy[0].weight.grad is not None)
