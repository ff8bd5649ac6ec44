# silent-data-edit | wrong-value | .data
# evidence: tensor([0., 0., 0.])
import torch

x = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
y = torch.exp(x)
y.data.zero_()  #C
y.sum().backward()
g = x.grad  #R
print("evidence:", g)
