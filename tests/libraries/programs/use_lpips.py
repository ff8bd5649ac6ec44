import torch
from lpips import LPIPS

torch.manual_seed(0)
loss = LPIPS(net="squeeze", pretrained=False, pnet_rand=True, verbose=False)
x = torch.rand(1, 3, 64, 64, requires_grad=True)
value = loss(x, torch.rand(1, 3, 64, 64))
value.sum().backward()
print(value.item(), x.grad.norm().item())
