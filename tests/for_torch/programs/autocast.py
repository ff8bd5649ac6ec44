import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", enabled=True)
for step in range(3):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = net(torch.randn(4, 8))
        loss = out.float().pow(2).mean()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    print(step, out.dtype, loss.dtype, loss.item(), norm.item(), scaler.get_scale(), torch.is_autocast_enabled("cpu"))


@torch.autocast("cpu", dtype=torch.bfloat16)
def decorated(x):
    return x @ x


print(decorated(torch.ones(2, 2)).dtype, decorated.__name__)
