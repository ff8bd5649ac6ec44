# graph-freed | error | freed/second time
# evidence: second step failed
import torch
import torch.nn as nn


class Smooth(nn.Module):
    def __init__(self):
        super().__init__()
        self.raw = nn.Parameter(torch.zeros(3))
        self.kernel = torch.softmax(self.raw, 0)  #C

    def forward(self, x):
        return (x.unfold(0, 3, 1) * self.kernel).sum(-1)


m = Smooth()
opt = torch.optim.SGD(m.parameters(), lr=0.1)
signal = torch.arange(8.0)
status = "fine"
for step in range(2):
    loss = m(signal).var()
    opt.zero_grad()
    try:
        loss.backward()  #R
    except RuntimeError:
        status = "second step failed"
        break
    opt.step()
print("evidence:", status)
