# copy-not-updated | average
# evidence: average moved: False
import copy

import torch
from torch import nn
import torch.nn.functional as F


def averaged(average, model, keep=0.95):
    """The next average."""
    following = copy.deepcopy(average)
    with torch.no_grad():
        for a, p in zip(following.parameters(), model.parameters(), strict=True):
            a.mul_(keep).add_(p, alpha=1 - keep)
    return following


class Run:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 1))
        self.ema_model = copy.deepcopy(self.model)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-2)

    def step(self):
        x = torch.randn(16, 5)
        loss = F.mse_loss(self.model(x), x.sum(1, keepdim=True))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        averaged(self.ema_model, self.model)  #C


def main():
    torch.manual_seed(0)
    run = Run()
    before = [p.clone() for p in run.ema_model.parameters()]
    for _ in range(20):
        run.step()
    moved = any(not torch.equal(a, b) for a, b in zip(before, run.ema_model.parameters(), strict=True))
    print(f"average moved: {moved}")


main()
