# unused-in-loss | income
# evidence: done
"""Head called twice."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 32), nn.ReLU())
        self.age = nn.Linear(32, 1)
        self.income = nn.Linear(32, 1)

    def forward(self, x):
        h = self.body(x)
        return {"age": self.age(h), "income": self.age(h)}  #C


def main():
    torch.manual_seed(0)
    net = Net()
    w = torch.randn(8, 2)
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for step in range(60):
        x = torch.randn(32, 8)
        y = x @ w
        out = net(x)
        loss = F.mse_loss(out["age"], y[:, :1]) + F.mse_loss(out["income"], y[:, 1:])
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())


main()
print("evidence: done")
