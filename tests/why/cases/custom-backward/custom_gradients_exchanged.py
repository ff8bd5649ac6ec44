# custom-backward | wrong-value | backward
# evidence: False
import torch

torch.manual_seed(0)


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g * x, g * w  #C


x = torch.randn(5, requires_grad=True)
w = torch.randn(5, requires_grad=True)
y = Scale.apply(x, w)  #C
y.sum().backward()
print("evidence:", torch.allclose(x.grad, w.detach()))  #R
