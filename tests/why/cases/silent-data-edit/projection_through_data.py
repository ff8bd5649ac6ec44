# silent-data-edit | wrong-value | .data
# evidence: True
import torch

torch.manual_seed(0)
U = torch.randn(3, 2, requires_grad=True)
V = torch.randn(4, 2, requires_grad=True)
R = torch.randn(3, 4)
loss = (U @ V.T - R).pow(2).sum()
exact, = torch.autograd.grad(loss, U, retain_graph=True)
V.data.clamp_(min=0)  #C
loss.backward()
g = U.grad  #R
print("evidence:", not torch.allclose(g, exact))
