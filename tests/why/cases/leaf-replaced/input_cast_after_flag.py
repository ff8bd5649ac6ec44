# leaf-replaced, non-leaf-no-retain | none | leaf
# evidence: True False
import numpy as np
import torch

raw = np.linspace(0, 1, 5)
x = torch.tensor(raw, requires_grad=True).float()  #C
y = (x * x).sum()
y.backward()
dx = x.grad  #R
print("evidence:", dx is None, x.is_leaf)
