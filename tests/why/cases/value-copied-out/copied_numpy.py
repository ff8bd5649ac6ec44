# value-copied-out, detach | none | numpy, graph/history
# evidence: True
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
enc, dec = nn.Linear(3, 2), nn.Linear(2, 3)
x = torch.randn(4, 3)
z = enc(x)
z = np.tanh(z.detach().numpy())  #C
z = torch.from_numpy(z)  #C
loss = (dec(z) - x).pow(2).mean()
loss.backward()
g = enc.weight.grad  #R
print("evidence:", g is None)
