# non-leaf-no-retain | none | retain
# evidence: None
import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
y = w * w * w
(g,) = torch.autograd.grad(y.sum(), w, create_graph=True)  #C
(g * g).sum().backward()
print("evidence:", g.grad)  #R
