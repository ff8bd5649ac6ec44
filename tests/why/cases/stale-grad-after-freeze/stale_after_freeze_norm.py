# stale-grad-after-freeze | stale | requires_grad, earlier/left over/stale, none/zero_grad/clear
# evidence: False True
import torch

w = torch.tensor([1.0, -1.0], requires_grad=True)
b = torch.tensor(0.5, requires_grad=True)
(w.sum() * b).backward()
w.requires_grad = False  #C
b.grad = None
(w.sum() * b).backward()
norm = w.grad.norm()  #R
print("evidence:", w.requires_grad, bool(norm > 0))
