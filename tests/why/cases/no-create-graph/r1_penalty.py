# no-create-graph | error | create_graph
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
disc = nn.Sequential(nn.Linear(3, 8), nn.Softplus(), nn.Linear(8, 1))


def r1(real):
    real = real.requires_grad_()
    out = disc(real)
    grad, = torch.autograd.grad(out.sum(), real)  #C
    return grad.pow(2).sum(1).mean()


penalty = r1(torch.randn(6, 3))
stopped = False
try:
    penalty.backward()  #R
except RuntimeError as e:
    stopped = "does not require grad" in str(e)
print("evidence:", stopped)
