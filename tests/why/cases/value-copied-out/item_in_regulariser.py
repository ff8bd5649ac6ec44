# value-copied-out, unused-in-loss | none | item, graph/history/number
# evidence: True True
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(5, 1)
gate = nn.Parameter(torch.full((5,), 0.3))


def sparsity():
    total = 0.0
    for g in gate:
        total += abs(g.item())  #C
    return total


x, y = torch.randn(12, 5), torch.randn(12, 1)
loss = nn.functional.mse_loss(model(x), y) + 0.5 * sparsity()
loss.backward()
grad = gate.grad  #R
print("evidence:", grad is None, model.weight.grad is not None)
