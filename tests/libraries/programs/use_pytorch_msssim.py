import torch
from pytorch_msssim import ms_ssim, ssim

torch.manual_seed(0)
x, y = torch.rand(1, 3, 176, 176, requires_grad=True), torch.rand(1, 3, 176, 176)
loss = 1 - ssim(x, y, data_range=1.0)
loss.backward()
print(loss.item(), x.grad.norm().item(), ms_ssim(x, y, data_range=1.0).item())
