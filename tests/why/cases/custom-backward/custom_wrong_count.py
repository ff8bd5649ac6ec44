# custom-backward | error | backward, gradient, number/two/forward
# evidence: True
import torch


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, g):
        return g * ctx.factor  #C


x = torch.ones(2, requires_grad=True)
failed = False
try:
    Scale.apply(x, 3.0).sum().backward()  #R #C
except RuntimeError as e:
    failed = "incorrect number of gradients" in str(e)
print("evidence:", failed)
