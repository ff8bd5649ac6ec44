# custom-backward | wrong-value | backward
# evidence: True
import torch


class Softplus(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, beta):
        ctx.save_for_backward(x)
        ctx.beta = beta
        return torch.log1p(torch.exp(beta * x)) / beta

    @staticmethod
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        return grad_output * torch.sigmoid(x), None  #C


x = torch.tensor([-1.0, 0.5, 2.0], requires_grad=True)
Softplus.apply(x, 4.0).sum().backward()  #C
g = x.grad  #R
print("evidence:", not torch.allclose(g, torch.sigmoid(4 * x)))
