# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(critic.parameters())
for _ in range(2):
    real, fake = torch.randn(6, 2), torch.randn(6, 2)
    t = torch.rand(6, 1)
    mix = (t * real + (1 - t) * fake).requires_grad_(True)
    (gx,) = torch.autograd.grad(critic(mix).sum(), mix, create_graph=True)
    penalty = (gx.norm(2, dim=1) - 1).pow(2).mean()
    loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
    opt.zero_grad()
    loss.backward()
    opt.step()
g = critic[0].weight.grad
print("evidence:", g is not None)
