# custom-backward | wrong-value | backward, derivative/formula/gradcheck
# evidence: tensor([2., 4., 6.])
import torch


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 2 * x  #C


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
Cube.apply(x).sum().backward()  #C
g = x.grad  #R
print("evidence:", g)
