# missing-detach | unwanted | detach/item
# evidence: True
import torch

torch.manual_seed(0)
mu = torch.zeros(2, requires_grad=True)
opt = torch.optim.SGD([mu], lr=0.1)
total = torch.zeros(())
for _ in range(3):
    elbo = ((mu - torch.randn(2)) ** 2).sum()
    opt.zero_grad()
    elbo.backward()
    opt.step()
    total += elbo  #C
tracked = total.requires_grad  #R
print("evidence:", tracked)
