# detach | none | .data, graph/history
# evidence: True True
import torch
import torch.nn as nn

torch.manual_seed(0)
emb, out = nn.Linear(4, 3), nn.Linear(3, 1)
h = emb(torch.randn(5, 4))
h = torch.tanh(h.data)  #C
loss = out(h).mean()
loss.backward()
g = emb.weight.grad  #R
print("evidence:", g is None, out.weight.grad is not None)
