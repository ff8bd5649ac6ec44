# custom-backward | wrong-value, zero, none | apply, forward
# evidence: True
import torch


class STE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, g):
        return g


w = torch.tensor([0.3, 1.7, -0.6], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
out = STE.forward(None, w)  #C
loss = (out - 5).pow(2).sum()
loss.backward()
g = w.grad  #R
print("evidence:", bool((g == 0).all()))
