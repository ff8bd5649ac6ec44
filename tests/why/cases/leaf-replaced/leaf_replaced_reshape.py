# leaf-replaced, non-leaf-no-retain | none | leaf
# evidence: True
import torch
import torch.nn as nn

net = nn.Linear(4, 2)
image = torch.rand(2, 2, requires_grad=True)
image = image.reshape(1, 4)  #C
net(image).sum().backward()
g = image.grad  #R
print("evidence:", g is None)
