# ok
# evidence: True
import torch

x = torch.ones(2, requires_grad=True)
h = torch.tanh(x * 2)
h.retain_grad()
(h ** 2).sum().backward()
print("evidence:", h.grad is not None)
