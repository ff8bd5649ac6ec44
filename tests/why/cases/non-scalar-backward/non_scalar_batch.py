# non-scalar-backward | error | scalar/one element, gradient, mean/sum
# evidence: grad can be implicitly created only for scalar outputs
import torch
import torch.nn as nn

net = nn.Linear(3, 1)
out = net(torch.randn(5, 3))
target = torch.zeros(5, 1)
loss = (out - target) ** 2  #C
message = ""
try:
    loss.backward()  #R
except RuntimeError as e:
    message = str(e)
print("evidence:", message)
