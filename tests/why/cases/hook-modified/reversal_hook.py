# hook-modified | wrong-value | hook
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
feature, domain = nn.Linear(3, 4), nn.Linear(4, 2)
z = feature(torch.randn(6, 3))
z.register_hook(lambda grad: -0.5 * grad)  #C
loss = nn.functional.cross_entropy(domain(z), torch.tensor([0, 1, 0, 1, 0, 1]))
plain, = torch.autograd.grad(loss, domain.weight, retain_graph=True)
loss.backward()
g = feature.weight.grad  #R
print("evidence:", torch.allclose(domain.weight.grad, plain) and g is not None)
