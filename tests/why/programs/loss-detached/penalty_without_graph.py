# loss-detached | create_graph
# evidence: done
"""Penalty without graph."""
import torch
import torch.nn as nn


def penalty(critic, real, fake):
    eps = torch.rand(len(real), 1)
    x = (eps * real + (1 - eps) * fake).requires_grad_()
    (grad,) = torch.autograd.grad(critic(x).sum(), x)  #C
    return ((grad.norm(dim=1) - 1) ** 2).mean()


def main():
    torch.manual_seed(0)
    g = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
    c = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
    go, co = torch.optim.Adam(g.parameters(), 1e-3), torch.optim.Adam(c.parameters(), 1e-3)
    for step in range(40):
        real = torch.randn(64, 2) + 2
        fake = g(torch.randn(64, 3))
        loss = c(fake.detach()).mean() - c(real).mean() + 10 * penalty(c, real, fake.detach())
        co.zero_grad()
        loss.backward()
        co.step()
        loss_g = -c(g(torch.randn(64, 3))).mean()
        go.zero_grad()
        loss_g.backward()
        go.step()
    print(loss.item())


main()
print("evidence: done")
