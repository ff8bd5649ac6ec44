# ok
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
vgg = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU()).eval()
for p in vgg.parameters():
    p.requires_grad_(False)
content = torch.rand(1, 3, 6, 6)
target = vgg(content).detach()
canvas = torch.rand(1, 3, 6, 6).requires_grad_(True)
opt = torch.optim.LBFGS([canvas], max_iter=3)


def closure():
    opt.zero_grad()
    loss = nn.functional.mse_loss(vgg(canvas), target)
    loss.backward()
    return loss


for _ in range(2):
    opt.step(closure)
print("evidence:", canvas.grad is not None)
