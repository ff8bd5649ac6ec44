# ok
# evidence: True
import torch

torch.manual_seed(0)
x, y = torch.randn(20, 3), torch.randn(20, 1)
w = torch.zeros(3, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
for _ in range(5):
    loss = ((x @ w + b - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        b -= 0.1 * b.grad
        w.grad.zero_()
        b.grad.zero_()
print("evidence:", w.is_leaf and b.is_leaf)
