# value-unused
# evidence: the temperature changes the loss: False
import torch
import torch.nn as nn
import torch.nn.functional as F


class PairLoss(nn.Module):
    def __init__(self, temperature=0.1):
        super().__init__()
        self.temperature = temperature  #C

    def forward(self, a, b):
        scores = F.normalize(a, dim=1) @ F.normalize(b, dim=1).T
        return F.cross_entropy(scores, torch.arange(len(a)))


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 16))

    def forward(self, x):
        return self.net(x)


def main():
    torch.manual_seed(0)
    tower, criterion = Tower(), PairLoss()
    optimizer = torch.optim.Adam(tower.parameters(), lr=2e-3)
    for step in range(80):
        x = torch.randn(32, 10)
        loss = criterion(tower(x + 0.1 * torch.randn_like(x)), tower(x + 0.1 * torch.randn_like(x)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    a, b = tower(x), tower(x + 0.1)
    print("evidence: the temperature changes the loss:", not torch.equal(PairLoss(0.1)(a, b), PairLoss(9.0)(a, b)))


main()
