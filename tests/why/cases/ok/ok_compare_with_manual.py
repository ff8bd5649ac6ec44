# ok
# evidence: True
import torch

torch.manual_seed(0)
x, w = torch.randn(5, 3), torch.randn(3, requires_grad=True)
y = torch.randn(5)
pred = x @ w
loss = ((pred - y) ** 2).sum()
loss.backward()
manual = 2 * x.T @ (pred.detach() - y)
print("evidence:", torch.allclose(w.grad, manual))
