import pytorch_warmup as warmup
import torch

torch.manual_seed(0)
net = torch.nn.Linear(2, 1)
optimizer = torch.optim.AdamW(net.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
ramp = warmup.LinearWarmup(optimizer, 4)
for _ in range(6):
    optimizer.zero_grad()
    net(torch.ones(1, 2)).pow(2).sum().backward()
    optimizer.step()
    with ramp.dampening():
        schedule.step()
    print(optimizer.param_groups[0]["lr"], net.weight.sum().item())
