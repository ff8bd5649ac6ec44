# nan-derivative | nan | nan, exp, overflow/inf
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
lin = nn.Linear(2, 3)
x = torch.tensor([[500.0, 800.0], [-900.0, 700.0]])
logits = lin(x)
e = torch.exp(logits)  #C
p = e / e.sum(dim=1, keepdim=True)
loss = -(p[:, 0] + 1e-8).log().mean()
loss.backward()
g = lin.weight.grad  #R
print("evidence:", bool(torch.isnan(g).any()))
