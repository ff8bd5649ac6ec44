# grad-cleared | zero | zero, set_to_none/zero_grad/zero_
# evidence: True
import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
(w ** 2).sum().backward()
w.grad.zero_()  #C
g = w.grad  #R
print("evidence:", bool((g == 0).all()))
