# custom-backward | error | backward, shape
# evidence: True
import torch


class Pick(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x[:2].clone()

    @staticmethod
    def backward(ctx, g):
        return g  #C


x = torch.ones(5, requires_grad=True)
failed = False
try:
    Pick.apply(x).sum().backward()  #R #C
except RuntimeError as e:
    failed = "invalid gradient" in str(e)
print("evidence:", failed)
