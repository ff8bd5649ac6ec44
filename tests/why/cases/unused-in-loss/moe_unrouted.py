# unused-in-loss | none | loss
# evidence: [False, True, True]
import torch
from torch import nn

torch.manual_seed(0)


class MoE(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.experts = nn.ModuleList([nn.Linear(3, 3) for _ in range(n)])

    def forward(self, x, route):
        return self.experts[route](x)


moe = MoE(3)
loss = moe(torch.randn(4, 3), 0).pow(2).mean()  #C
loss.backward()  #C
idle = [e.weight.grad is None for e in moe.experts]  #R
print("evidence:", idle)
