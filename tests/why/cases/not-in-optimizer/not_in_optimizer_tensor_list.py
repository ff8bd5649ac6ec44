# not-in-optimizer | no-update | optimizer
# evidence: True 0.0
import torch

torch.manual_seed(0)
w = torch.randn(3, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)  #C
x, y = torch.randn(9, 3), torch.ones(9)
for _ in range(3):
    opt.zero_grad()
    ((x @ w + b - y) ** 2).mean().backward()
    opt.step()
g = b.grad  #R
print("evidence:", g is not None, b.item())
