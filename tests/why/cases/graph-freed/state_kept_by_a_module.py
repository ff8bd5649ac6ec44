# graph-freed | error | detach, freed/earlier/previous
# evidence: True
import torch
import torch.nn as nn


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(4 + 3, 4)
        self.state = torch.zeros(1, 4)

    def forward(self, x):
        self.state = torch.tanh(self.cell(torch.cat([self.state.expand(x.size(0), -1), x], 1)))  #C
        return self.state


torch.manual_seed(0)
m = Memory()
opt = torch.optim.SGD(m.parameters(), lr=0.1)
said = "ok"
for i in range(3):
    opt.zero_grad()
    try:
        m(torch.randn(1, 3)).pow(2).mean().backward()  #R
    except RuntimeError as e:
        said = str(e)[:20]
        break
    opt.step()
print("evidence:", said)
print("evidence:", m.state.requires_grad)
