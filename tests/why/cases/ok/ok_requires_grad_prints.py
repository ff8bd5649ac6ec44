# ok
# evidence: True False True False True
import torch

x = torch.ones(2, 2, requires_grad=True)
y = x + 2
z = y * y * 3
out = z.mean()
out.backward()
d = x.detach()
with torch.no_grad():
    q = x * 2
print(x.grad, y.grad_fn is not None, out.grad_fn)
print("evidence:", y.requires_grad, d.requires_grad, x.is_leaf, q.requires_grad, (x ** 2).requires_grad)
