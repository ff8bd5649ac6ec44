# value-copied-out | none | float, graph/history/number
# evidence: True
import math
import torch

a = torch.tensor(1.5, requires_grad=True)
b = torch.tensor(2.0, requires_grad=True)
s = math.sin(float(a))  #C
loss = b * s
loss.backward()
print("evidence:", a.grad is None)  #R
