# leaf-replaced | error | leaf
# evidence: can't optimize a non-leaf Tensor
import torch

w = torch.randn(4, requires_grad=True) / 2  #C
message = ""
try:
    opt = torch.optim.SGD([w], lr=0.1)  #R
except ValueError as e:
    message = str(e)
print("evidence:", message)
