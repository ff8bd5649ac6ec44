# custom-backward | error,none | apply
# evidence: False
import torch


class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.detach().round()

    @staticmethod
    def backward(ctx, g):
        return g


x = torch.tensor([0.4, 1.6], requires_grad=True)
y = Round.forward(None, x)  #C
msg = "ok"
try:
    y.sum().backward()  #R
except RuntimeError as e:
    msg = str(e)[:30]
print("evidence:", msg)
print("evidence:", y.requires_grad)
