# value-copied-out | none | torch.tensor, stack
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
heads = nn.ModuleList([nn.Linear(3, 1) for _ in range(3)])
x = torch.randn(5, 3)
losses = [h(x).pow(2).mean() for h in heads]
weights = torch.softmax(nn.Parameter(torch.zeros(3)), 0)
total = (torch.tensor(losses) * weights).sum()  #C
total.backward()
g = heads[0].weight.grad  #R
print("evidence:", g is None)
