# gradient-shape-mismatch | error | shape
# evidence: True
import torch

torch.manual_seed(0)
x = torch.randn(4, requires_grad=True)
W = torch.randn(2, 4)
y = W @ x.sin()
v = torch.ones(4)
problem = ""
try:
    y.backward(v)  #R #C
except RuntimeError as e:
    problem = str(e)
print("evidence:", problem.startswith("Mismatch in shape"))
