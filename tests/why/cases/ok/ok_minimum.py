# ok
# evidence: tensor([0., 0.])
import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
loss = ((x - torch.tensor([1.0, 2.0])) ** 2).sum()
loss.backward()
g = x.grad
print("evidence:", g)
