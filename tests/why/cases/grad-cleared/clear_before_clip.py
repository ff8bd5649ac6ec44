# grad-cleared | none | zero_grad
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(3, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)


class Trainer:
    def step(self, x):
        loss = net(x).pow(2).mean()
        loss.backward()
        opt.zero_grad()  #C
        return self.norm()

    def norm(self):
        return net.weight.grad  #R


n = Trainer().step(torch.randn(5, 3))
print("evidence:", n is None)
