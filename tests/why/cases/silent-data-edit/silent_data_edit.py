# silent-data-edit | wrong-value | .data, wrong/silent/version/without
# evidence: tensor([10., 10.])
import torch

a = torch.tensor([2.0, 3.0], requires_grad=True)
b = torch.tensor([1.0, 1.0], requires_grad=True)
out = (a * b).sum()
b.data.fill_(10.0)  #C
out.backward()
g = a.grad  #R
print("evidence:", g)
