# broadcast-loss | wrong-value | broadcast/shape
# evidence: (6, 6)
import torch

torch.manual_seed(0)
w = torch.randn(3, 1, requires_grad=True)
x, target = torch.randn(6, 3), torch.randn(6)
err = target - x @ w  #C
err.abs().mean().backward()
g = w.grad  #R
print("evidence:", tuple(err.shape))
