# ok
# evidence: True
import torch

torch.manual_seed(0)
w = torch.randn(4, requires_grad=True)
for _ in range(3):
    loss = (w ** 2).sum()
    loss.backward()
    w.data -= 0.1 * w.grad.data
    w.grad = None
print("evidence:", w.requires_grad)
