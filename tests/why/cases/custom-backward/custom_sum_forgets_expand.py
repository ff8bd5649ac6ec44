# custom-backward | error | backward, shape/gradient
# evidence: True
import torch


class RowSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, m):
        ctx.shape = m.shape
        return m.sum(1)

    @staticmethod
    def backward(ctx, grad):
        return grad  #C


m = torch.randn(3, 4, requires_grad=True)
bad = False
try:
    RowSum.apply(m).pow(2).sum().backward()  #R #C
except RuntimeError as e:
    bad = "invalid gradient" in str(e)
print("evidence:", bad)
