# not-in-optimizer | no-update | optimizer, parameter/registered/hold
# evidence: True True
import torch
import torch.nn as nn

torch.manual_seed(0)


class Affine(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 1)
        self.gain = torch.ones(1, requires_grad=True)  #C

    def forward(self, x):
        return self.lin(x) * self.gain


m = Affine()
opt = torch.optim.SGD(m.parameters(), lr=0.1)  #C
for _ in range(2):
    opt.zero_grad()
    m(torch.randn(5, 3)).pow(2).mean().backward()
    opt.step()
g = m.gain.grad  #R
print("evidence:", g is not None, m.gain.item() == 1.0)
