# copy-not-updated | never
# evidence: target moved: False
import copy

import torch
import torch.nn.functional as F
from torch import nn


class Values:
    def __init__(self, refresh=1000):
        self.net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        self.target_net = copy.deepcopy(self.net)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=1e-2)
        self.refresh = refresh

    def update(self, step, x, reward, following):
        with torch.no_grad():
            goal = reward + 0.9 * self.target_net(following)
        loss = F.mse_loss(self.net(x), goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        if step and step % self.refresh == 0:  #C
            self.target_net.load_state_dict(self.net.state_dict())  #C


def main():
    torch.manual_seed(0)
    values = Values()
    before = [p.clone() for p in values.target_net.parameters()]
    for step in range(400):
        x = torch.randn(4, 3)
        values.update(step, x, x.sum(1, keepdim=True), torch.randn(4, 3))
    moved = any(not torch.equal(a, b) for a, b in zip(before, values.target_net.parameters(), strict=True))
    print(f"target moved: {moved}")


main()
