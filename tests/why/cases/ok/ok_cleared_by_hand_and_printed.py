# ok
# evidence: True
import torch

torch.manual_seed(0)
w = torch.zeros(3, requires_grad=True)
v = torch.zeros(3)
x, y = torch.randn(20, 3), torch.randn(20)
for t in range(30):
    loss = (x @ w - y).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        v.mul_(0.9).add_(w.grad)
        w.sub_(0.05 * v)
        w.grad.zero_()
print(w.grad)
print("evidence:", loss.item() < y.pow(2).mean().item())
