# not-in-optimizer | no-update | optimizer
# evidence: True True
import torch
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.Tanh())
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        return self.head(self.body(x))


net = Net()
opt = torch.optim.SGD(net.head.parameters(), lr=0.1)  #C
w0 = net.body[0].weight.detach().clone()
x, y = torch.randn(16, 4), torch.randn(16, 1)
for _ in range(5):
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    opt.step()
g = net.body[0].weight.grad  #R
print("evidence:", g is not None, torch.equal(w0, net.body[0].weight))
