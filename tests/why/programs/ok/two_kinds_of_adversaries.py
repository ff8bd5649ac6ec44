# ok
# evidence: done
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F


def net(i, o):
    return nn.Sequential(nn.Linear(i, 32), nn.LeakyReLU(0.2), nn.Linear(32, o))


def wgan():
    g, c = net(3, 2), net(2, 1)
    go = torch.optim.RMSprop(g.parameters(), lr=5e-4)
    co = torch.optim.RMSprop(c.parameters(), lr=5e-4)
    for step in range(40):
        real = torch.randn(64, 2) * 0.3 + 2
        fake = g(torch.randn(64, 3))
        loss_c = c(fake.detach()).mean() - c(real).mean()
        co.zero_grad()
        loss_c.backward()
        co.step()
        with torch.no_grad():
            for p in c.parameters():
                p.clamp_(-0.1, 0.1)
        loss_g = -c(fake).mean()
        go.zero_grad()
        loss_g.backward()
        go.step()
    print("wgan", loss_g.item())


def bce_gan():
    g, d = net(3, 2), net(2, 1)
    go, do = torch.optim.Adam(g.parameters(), 1e-3), torch.optim.Adam(d.parameters(), 1e-3)
    for step in range(40):
        real = torch.randn(64, 2) * 0.3 + 2
        fake = g(torch.randn(64, 3))
        real_logits, fake_logits = d(real), d(fake.detach())
        loss_d = F.binary_cross_entropy_with_logits(real_logits, torch.ones_like(real_logits)) + \
            F.binary_cross_entropy_with_logits(fake_logits, torch.zeros_like(fake_logits))
        do.zero_grad()
        loss_d.backward()
        do.step()
        logits = d(fake)
        loss_g = F.binary_cross_entropy_with_logits(logits, torch.ones_like(logits))
        go.zero_grad()
        loss_g.backward()
        go.step()
    print("bce", loss_g.item())


if __name__ == "__main__":
    torch.manual_seed(0)
    wgan()
    bce_gan()
print("evidence: done")
