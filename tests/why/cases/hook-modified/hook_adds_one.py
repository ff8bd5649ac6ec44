# hook-modified | wrong-value | from 1 to 2
# evidence: tensor([4., 4.])
import torch

x = torch.ones(2, requires_grad=True)
y = x * 2
y.register_hook(lambda g: g + 1)  #C
y.sum().backward()
print("evidence:", x.grad)  #R
