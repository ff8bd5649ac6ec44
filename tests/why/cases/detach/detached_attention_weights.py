# detach | none | detach
# evidence: ['key.weight', 'query.weight']
import torch
from torch import nn


class Pool(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.query = nn.Linear(d, d, bias=False)
        self.key = nn.Linear(d, d, bias=False)
        self.value = nn.Linear(d, d, bias=False)
        self.last_attention = None

    def forward(self, x):
        w = torch.softmax(self.query(x) @ self.key(x).mT, -1)
        self.last_attention = w = w.detach()  #C
        return w @ self.value(x)


pool = Pool(4)
pool(torch.randn(3, 4)).pow(2).sum().backward()
missing = sorted(n for n, p in pool.named_parameters() if p.grad is None)  #R
print("evidence:", missing)
