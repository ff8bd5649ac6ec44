# grad-accumulated | wrong-value | zero_grad
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(4, 1)
opt = torch.optim.SGD(net.parameters(), lr=1e-5)
x, y = torch.randn(16, 4), torch.randn(16, 1)
norms = []
for e in range(6):
    opt.zero_grad
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()  #C
    norms.append(net.weight.grad.norm().item())  #R
    opt.step()
print("evidence:", norms[5] > 5 * norms[0])
