# average-wrong | norm
# evidence: done
"""Factors that do not add up."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F


class EMA:
    def __init__(self, model, decay=0.999):
        self.model = copy.deepcopy(model)
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for e, p in zip(self.model.parameters(), model.parameters()):
            e.mul_(1 - self.decay).add_(p, alpha=1 - self.decay)  #C


def main():
    torch.manual_seed(0)
    x = torch.randn(300, 6)
    y = x.sin().sum(1, keepdim=True)
    net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))
    ema = EMA(net)
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    for step in range(80):
        idx = torch.randint(0, 300, (50,))
        loss = F.mse_loss(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update(net)
    with torch.no_grad():
        print(F.mse_loss(ema.model(x), y).item())


main()
print("evidence: done")
