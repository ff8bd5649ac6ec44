# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(5, 3)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x, y = torch.rand(4, 5), torch.randint(0, 3, (4,))
x_adv = x.clone().requires_grad_(True)
nn.functional.cross_entropy(net(x_adv), y).backward()
step = 0.1 * x_adv.grad.sign()
perturbed = (x + step).clamp(0, 1).detach()
opt.zero_grad()
nn.functional.cross_entropy(net(perturbed), y).backward()
opt.step()
print("evidence:", net.weight.grad is not None)
