# value-copied-out | none, error | torch.tensor/copies/copied/copy/new tensor/new leaf, stack/graph/history
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
nets = nn.ModuleList(nn.Linear(3, 1) for _ in range(3))
opt = torch.optim.SGD(nets.parameters(), lr=0.1)
x, y = torch.randn(10, 3), torch.randn(10, 1)


def total_loss():
    parts = [nn.functional.mse_loss(net(x), y).item() for net in nets]  #C
    return torch.FloatTensor(parts).requires_grad_().mean()  #C


loss = total_loss()
opt.zero_grad()
loss.backward()
opt.step()
print(nets[0].weight.grad)  #R
print("evidence:", nets[0].weight.grad is None)
