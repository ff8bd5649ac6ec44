# selection-reversed | worst
# evidence: done
"""Largest error is kept."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F


def main():
    torch.manual_seed(0)
    x = torch.randn(300, 6)
    y = x.pow(2).sum(1, keepdim=True)
    net = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    best, saved = 0.0, None
    for epoch in range(15):
        for i in range(0, 200, 40):
            loss = F.mse_loss(net(x[i:i + 40]), y[i:i + 40])
            opt.zero_grad()
            loss.backward()
            opt.step()
        with torch.no_grad():
            val = F.mse_loss(net(x[200:]), y[200:]).item()
        if val > best:  #C
            best, saved = val, copy.deepcopy(net.state_dict())
    net.load_state_dict(saved)
    with torch.no_grad():
        print(F.mse_loss(net(x[200:]), y[200:]).item())


main()
print("evidence: done")
