# zero-factor | zero | dropout
# evidence: tensor([0., 0., 0.])
import torch
import torch.nn.functional as F

d = torch.ones(3, requires_grad=True)
F.dropout(d, 1.0).sum().backward()  #C
print("evidence:", d.grad)  #R
