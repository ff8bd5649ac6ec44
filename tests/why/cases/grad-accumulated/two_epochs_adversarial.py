# grad-accumulated | wrong-value | accumulat/add, none/zero/clear
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
x = torch.rand(1, 4)
y = torch.tensor([1])
delta = torch.zeros_like(x, requires_grad=True)
first = None
for k in range(3):
    loss = nn.functional.cross_entropy(model(x + delta), y)
    loss.backward()  #C
    g = delta.grad.detach()  #R
    if first is None:
        first = g.clone()
    delta.data = (delta + 1e-6 * g.sign()).clamp(-0.1, 0.1)
print("evidence:", bool(g.norm() > 2.5 * first.norm()))
