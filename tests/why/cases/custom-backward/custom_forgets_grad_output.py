# custom-backward | wrong-value | backward, grad_output/incoming/gradcheck
# evidence: tensor([1., 1.])
import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x + 1

    @staticmethod
    def backward(ctx, grad_output):
        return torch.ones_like(grad_output)  #C


w = torch.tensor([3.0, 4.0], requires_grad=True)
y = Double.apply(w)  #C
(5 * y).sum().backward()
g = w.grad  #R
print("evidence:", g)
