# custom-backward | none | backward, none/return
# evidence: True
import torch


class ScaleGrad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        return x.clone()

    @staticmethod
    def backward(ctx, grad_output):
        grad = grad_output * ctx.scale
        return None, grad  #C


x = torch.randn(4, requires_grad=True)
y = ScaleGrad.apply(x, 0.1)
try:
    (y ** 2).sum().backward()
except RuntimeError as e:
    print(e)
g = x.grad  #R
print("evidence:", g is None)
