# custom-backward, grad-mode-off | error | enable_grad/backward
# evidence: True
import torch


class Implicit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.tanh()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        x = x.detach().requires_grad_()
        y = x.tanh()  #C
        return torch.autograd.grad(y, x, g)[0]  #R


x = torch.randn(3, requires_grad=True)
try:
    Implicit.apply(x).sum().backward()  #R #C
    bad = False
except RuntimeError as e:
    bad = "does not require grad" in str(e)
print("evidence:", bad)
