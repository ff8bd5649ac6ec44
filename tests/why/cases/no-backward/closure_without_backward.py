# no-backward | no-update | backward
# evidence: True
import torch

w = torch.tensor([1.0, -2.0], requires_grad=True)
opt = torch.optim.LBFGS([w], lr=0.5)


def closure():
    opt.zero_grad()
    loss = ((w - torch.tensor([3.0, 4.0])) ** 2).sum()
    return loss


before = w.detach().clone()
try:
    for _ in range(3):
        opt.step(closure)  #R #C
except Exception as e:
    print(type(e), e)
print("evidence:", torch.equal(before, w))
