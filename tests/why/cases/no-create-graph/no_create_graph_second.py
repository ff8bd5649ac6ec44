# no-create-graph | error | create_graph
# evidence: True
import torch

x = torch.tensor(2.0, requires_grad=True)
y = x ** 4
(dy,) = torch.autograd.grad(y, x)  #C
failed = False
try:
    (d2y,) = torch.autograd.grad(dy, x)  #R
except RuntimeError as e:
    failed = "does not require grad" in str(e)
print("evidence:", failed)
