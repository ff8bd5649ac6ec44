# custom-backward | wrong-value | backward, derivative/formula/gradcheck
# evidence: True
import torch
from torch import nn


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, dy):
        x, s = ctx.saved_tensors
        return dy * s  #C


torch.manual_seed(0)
x = torch.randn(6, requires_grad=True)
Swish.apply(x).sum().backward()  #C
g = x.grad  #R
z = x.detach().clone().requires_grad_()
(z * torch.sigmoid(z)).sum().backward()
print("evidence:", not torch.allclose(g, z.grad))
