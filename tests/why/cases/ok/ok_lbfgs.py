# ok
# evidence: True
import torch

x = torch.tensor([-1.0, 1.5], requires_grad=True)
opt = torch.optim.LBFGS([x], lr=0.5, max_iter=5)


def closure():
    opt.zero_grad()
    loss = (1 - x[0]) ** 2 + 10 * (x[1] - x[0] ** 2) ** 2
    loss.backward()
    return loss


for _ in range(3):
    opt.step(closure)
print("evidence:", x.grad is not None)
