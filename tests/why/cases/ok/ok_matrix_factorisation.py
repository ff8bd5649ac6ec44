# ok
# evidence: True
import torch

torch.manual_seed(0)
R = torch.rand(6, 5)
U = torch.rand(6, 2, requires_grad=True)
V = torch.rand(5, 2, requires_grad=True)
opt = torch.optim.Adam([U, V], lr=0.05)
known = R > 0.3
for _ in range(5):
    loss = ((U @ V.T - R)[known] ** 2).mean() + 0.01 * (U.norm() + V.norm())
    opt.zero_grad()
    loss.backward()
    opt.step()
    U.data.clamp_(min=0)
print("evidence:", U.grad is not None and V.grad is not None)
