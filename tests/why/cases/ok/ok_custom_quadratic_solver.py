# ok
# evidence: True
import torch


class Solve(torch.autograd.Function):
    @staticmethod
    def forward(ctx, A, b):
        x = torch.linalg.solve(A, b)
        ctx.save_for_backward(A, x)
        return x

    @staticmethod
    def backward(ctx, g):
        A, x = ctx.saved_tensors
        gb = torch.linalg.solve(A.t(), g)
        return -torch.outer(gb, x), gb


torch.manual_seed(0)
A = (torch.eye(3) * 3 + torch.randn(3, 3) * 0.1).requires_grad_()
b = torch.randn(3, requires_grad=True)
Solve.apply(A, b).sum().backward()
g = A.grad
print("evidence:", g is not None and b.grad is not None)
