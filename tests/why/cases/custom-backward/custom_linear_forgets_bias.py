# custom-backward | none | backward, none/return
# evidence: True True
import torch


class LinearFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w)
        return x @ w.t() + b

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g @ w, g.t() @ x, None  #C


x = torch.randn(3, 4)
w = torch.randn(2, 4, requires_grad=True)
b = torch.zeros(2, requires_grad=True)
LinearFn.apply(x, w, b).sum().backward()  #C
g = b.grad  #R
print("evidence:", g is None, w.grad is not None)
