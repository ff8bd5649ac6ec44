# custom-backward | wrong-value | backward
# evidence: True
import torch


class Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.tanh(x)
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (1 - y ** 2)  #C


torch.manual_seed(0)
x = torch.randn(5, requires_grad=True)
Tanh.apply(x).sum().backward()  #C
g = x.grad  #R
print("evidence:", not torch.allclose(g, 1 - torch.tanh(x) ** 2))
