# custom-backward | error | backward
# evidence: True
import torch


class Log1p(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.log1p(x)


x = torch.rand(3, requires_grad=True)
y = Log1p.apply(x)  #C
failed = False
try:
    y.sum().backward()  #R #C
except NotImplementedError:
    failed = True
print("evidence:", failed)
