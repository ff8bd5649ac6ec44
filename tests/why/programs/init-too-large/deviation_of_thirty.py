# init-too-large | before the first step
# evidence: done
"""Deviation of thirty."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(12, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 3))
        self.apply(self.init)

    def init(self, m):
        if isinstance(m, nn.Linear):
            nn.init.normal_(m.weight, std=30.0)  #C
            nn.init.zeros_(m.bias)

    def forward(self, x):
        return self.layers(x)


def main():
    torch.manual_seed(0)
    x = torch.randn(400, 12)
    y = (x @ torch.randn(12, 3)).argmax(1)
    net = Net()
    opt = torch.optim.SGD(net.parameters(), lr=1e-3)
    for epoch in range(6):
        for i in range(0, 400, 50):
            loss = F.cross_entropy(net(x[i:i + 50]), y[i:i + 50])
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(loss.item())


main()
print("evidence: done")
