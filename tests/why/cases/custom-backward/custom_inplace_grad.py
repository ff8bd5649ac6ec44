# custom-backward | wrong-value | backward
# evidence: tensor([2., 2.])
import torch


class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, g):
        return g  #C


x = torch.ones(2, requires_grad=True)
y = x + Gate.apply(x)  #C
y.sum().backward()
g = x.grad  #R
print("evidence:", g)
