# zero-factor | zero | zero
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)


class Adapter(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.down = nn.Linear(d, 2)
        self.up = nn.Linear(2, d)
        nn.init.zeros_(self.up.weight)  #C
        nn.init.zeros_(self.up.bias)

    def forward(self, x):
        return x + self.up(torch.relu(self.down(x)))  #C


a = Adapter(4)
x = torch.randn(8, 4)
loss = (a(x) - 2 * x).pow(2).mean()  #C
loss.backward()
g = a.down.weight.grad  #R
print("evidence:", bool((g == 0).all()))
