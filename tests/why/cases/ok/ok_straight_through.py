# ok
# evidence: True
import torch


class Binarize(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return (x > 0).float()

    @staticmethod
    def backward(ctx, g):
        return g


w = torch.randn(4, requires_grad=True)
(Binarize.apply(w) * torch.arange(4.0)).sum().backward()
g = w.grad
print("evidence:", g is not None)
