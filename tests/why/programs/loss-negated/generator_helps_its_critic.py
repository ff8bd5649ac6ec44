# loss-negated | network
# evidence: done
"""Generator helps its critic."""
import torch
import torch.nn as nn


def net(i, o):
    return nn.Sequential(nn.Linear(i, 32), nn.ReLU(), nn.Linear(32, o))


def main():
    torch.manual_seed(0)
    g, c = net(3, 2), net(2, 1)
    go = torch.optim.RMSprop(g.parameters(), lr=5e-4)
    co = torch.optim.RMSprop(c.parameters(), lr=5e-4)
    for step in range(80):
        real = torch.randn(64, 2) * 0.3 + 2
        for _ in range(3):
            fake = g(torch.randn(64, 3)).detach()
            loss_c = c(fake).mean() - c(real).mean()
            co.zero_grad()
            loss_c.backward()
            co.step()
            for p in c.parameters():
                p.data.clamp_(-0.05, 0.05)
        loss_g = c(g(torch.randn(64, 3))).mean()  #C
        go.zero_grad()
        loss_g.backward()
        go.step()
    print(g(torch.randn(500, 3)).mean(0))


main()
print("evidence: done")
