import torch
from ema_pytorch import EMA

torch.manual_seed(0)
net = torch.nn.Linear(4, 4)
ema = EMA(net, beta=0.9, update_after_step=0, update_every=1)
for _ in range(4):
    with torch.no_grad():
        net.weight.add_(torch.randn_like(net.weight))
    ema.update()
print(ema(torch.ones(1, 4)).sum().item(), net(torch.ones(1, 4)).sum().item())
