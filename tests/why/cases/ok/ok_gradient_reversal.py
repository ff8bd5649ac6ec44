# ok
# evidence: True
import torch
import torch.nn as nn


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lam):
        ctx.lam = lam
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.lam * g, None


torch.manual_seed(0)
feat, dom = nn.Linear(2, 3), nn.Linear(3, 2)
opt = torch.optim.SGD([*feat.parameters(), *dom.parameters()], lr=0.1)
loss = nn.functional.cross_entropy(dom(Reverse.apply(feat(torch.randn(4, 2)), 0.5)), torch.tensor([0, 1, 0, 1]))
loss.backward()
g = feat.weight.grad
opt.step()
print("evidence:", g is not None)
