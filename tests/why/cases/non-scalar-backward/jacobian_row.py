# non-scalar-backward | error | scalar/one element, gradient
# evidence: True
import torch

torch.manual_seed(0)
A = torch.randn(3, 3)
x = torch.randn(3, requires_grad=True)
y = torch.tanh(A @ x)  #C
ok = True
try:
    y.backward()  #R
except RuntimeError:
    ok = False
print("evidence:", not ok)
