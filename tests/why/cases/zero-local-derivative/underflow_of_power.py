# zero-local-derivative | zero | underflow
# evidence: tensor([0.])
import torch

u = torch.tensor([1e-30], requires_grad=True)
(u ** 3).backward()  #C
print("evidence:", u.grad)  #R
