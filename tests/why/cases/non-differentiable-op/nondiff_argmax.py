# non-differentiable-op | none | argmax, derivative/differentiable/integer
# evidence: True True
import torch
import torch.nn as nn

torch.manual_seed(0)
router = nn.Linear(4, 3)
experts = nn.Parameter(torch.randn(3, 4))
x = torch.randn(5, 4)
choice = router(x).argmax(dim=1)  #C
loss = (experts[choice] * x).sum()
loss.backward()
g = router.weight.grad  #R
print("evidence:", g is None, experts.grad is not None)
