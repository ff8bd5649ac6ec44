# option-disables | betas
# evidence: done
"""Betas exchanged."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def main():
    torch.manual_seed(0)
    x = torch.randn(400, 10)
    y = (x @ torch.randn(10, 3)).argmax(1)
    net = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 3))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2, betas=(0.999, 0.9))  #C
    for epoch in range(8):
        for i in range(0, 400, 50):
            loss = F.cross_entropy(net(x[i:i + 50]), y[i:i + 50])
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(loss.item())


main()
print("evidence: done")
