import torch
from torch_ema import ExponentialMovingAverage

torch.manual_seed(0)
net = torch.nn.Linear(4, 1)
ema = ExponentialMovingAverage(net.parameters(), decay=0.9)
for _ in range(3):
    with torch.no_grad():
        net.weight.mul_(1.5)
    ema.update()
with ema.average_parameters():
    print(net.weight.sum().item())
print(net.weight.sum().item())
