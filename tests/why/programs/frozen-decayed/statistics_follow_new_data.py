# frozen-decayed | batch norm/running, evaluation mode
# evidence: statistics moved: True
import torch
from torch import nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU())
        self.old, self.new = nn.Linear(12, 2), nn.Linear(12, 3)

    def forward(self, x, head):
        return getattr(self, head)(self.trunk(x))  #C


def train(net, head, shift, classes, parameters, steps=15):
    optimizer = torch.optim.SGD(parameters, lr=0.05)
    net.train()  #C
    for _ in range(steps):
        x = torch.randn(32, 6)
        loss = F.cross_entropy(net(shift + 3 * x if shift else x, head), x[:, :classes].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    torch.manual_seed(0)
    net = Net()
    train(net, "old", 0, 2, [*net.trunk.parameters(), *net.old.parameters()])
    for p in [*net.trunk.parameters(), *net.old.parameters()]:
        p.requires_grad = False  #C
    before = net.trunk[1].running_mean.clone()
    train(net, "new", 4, 3, net.new.parameters())
    print(f"statistics moved: {not torch.allclose(before, net.trunk[1].running_mean)}")


main()
