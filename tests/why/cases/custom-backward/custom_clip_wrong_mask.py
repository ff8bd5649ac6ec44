# custom-backward | wrong-value | backward
# evidence: True
import torch


class LeakyClip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, slope):
        ctx.save_for_backward(x)
        ctx.slope = slope
        return torch.where(x > 0, x, slope * x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, ctx.slope * g, g), None  #C


torch.manual_seed(0)
v = torch.randn(8, requires_grad=True)
LeakyClip.apply(v, 0.1).sum().backward()  #C
g = v.grad  #R
print("evidence:", bool((g[v > 0] < 0.5).all()))
