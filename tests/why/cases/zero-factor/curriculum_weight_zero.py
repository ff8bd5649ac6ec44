# zero-factor | zero | zero, weight/factor/multipl
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
recon, adv = nn.Linear(3, 3), nn.Linear(3, 1)


def schedule(step, warmup=100):
    return max(0.0, (step - warmup) / warmup)


x = torch.randn(7, 3)
r = recon(x)
lam = schedule(10)
loss = (r - x).pow(2).mean() + lam * adv(r).mean()  #C
loss.backward()
g = adv.weight.grad  #R
print("evidence:", bool((g == 0).all()))
