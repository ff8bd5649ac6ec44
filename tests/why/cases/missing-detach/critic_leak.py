# missing-detach | unwanted | detach
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
gen = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
disc = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(), nn.Linear(8, 1))
g_opt = torch.optim.Adam(gen.parameters(), lr=1e-3)
d_opt = torch.optim.Adam(disc.parameters(), lr=1e-3)


def d_step(real, noise):
    d_opt.zero_grad()
    fake = gen(noise)
    loss = nn.functional.softplus(-disc(real)).mean() + nn.functional.softplus(disc(fake)).mean()  #C
    loss.backward()
    d_opt.step()


def g_step(noise):
    g_opt.zero_grad()
    loss = nn.functional.softplus(-disc(gen(noise))).mean()
    loss.backward()
    g_opt.step()


for it in range(2):
    g_opt.zero_grad()
    d_step(torch.randn(4, 2), torch.randn(4, 2))
    leaked = gen[0].weight.grad  #R
    g_step(torch.randn(4, 2))
print("evidence:", leaked is not None)
