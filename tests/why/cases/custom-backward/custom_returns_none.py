# custom-backward | none | backward, none/return
# evidence: True
import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        result = 2 * x * grad  #C


x = torch.ones(3, requires_grad=True)
Square.apply(x).sum().backward()  #C
g = x.grad  #R
print("evidence:", g is None)
