import tensorly as tl
import torch
from tensorly.decomposition import parafac, tucker

tl.set_backend("pytorch")
torch.manual_seed(0)
x = torch.rand(4, 5, 3, dtype=torch.float64, requires_grad=True)
core, factors = tucker(x.detach(), rank=[2, 2, 2], random_state=0)
print(tl.norm(tl.tucker_to_tensor((core, factors)) - x).item())
weights, parts = parafac(x.detach(), rank=2, init="svd", n_iter_max=20)
print(tl.norm(tl.cp_to_tensor((weights, parts))).item())
loss = (tl.tucker_to_tensor((core, factors)) - x).pow(2).sum() + tl.unfold(x, 1).norm()
loss.backward()
print(loss.item(), x.grad.sum().item())
