# missing-detach | unwanted, wrong-value | detach/no_grad, target
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
value = nn.Linear(3, 1)
s, s2, r = torch.randn(8, 3), torch.randn(8, 3), torch.randn(8, 1)
td_target = r + 0.99 * value(s2)  #C
loss = nn.functional.mse_loss(value(s), td_target)  #C
loss.backward()
g = value.weight.grad  #R
semi = torch.autograd.grad(nn.functional.mse_loss(value(s), td_target.detach()), value.weight)[0]
print("evidence:", not torch.allclose(g, semi))
