# inplace-saved-tensor | error | in-place/in place/inplace
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)


class EMA(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))
        self.register_buffer("avg", torch.ones(3))

    def forward(self, x):
        out = x * self.scale * self.avg
        self.avg.mul_(0.9).add_(x.detach().mean(0), alpha=0.1)  #C
        return out


layer = EMA()
msg = ""
try:
    layer(torch.randn(4, 3)).sum().backward()  #R
except RuntimeError as e:
    msg = str(e)
print("evidence:", "inplace operation" in msg)
