# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.ReLU(), nn.Linear(4, 2))
decay = [p for p in net.parameters() if p.ndim > 1]
rest = [p for p in net.parameters() if p.ndim == 1]
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=1e-3)
for _ in range(3):
    out = net(torch.randn(10, 4))
    loss = nn.functional.cross_entropy(out, torch.randint(0, 2, (10,)))
    opt.zero_grad(set_to_none=True)
    loss.backward()
    grads = torch.cat([p.grad.flatten() for p in net.parameters()])
    opt.step()
print("evidence:", bool(torch.isfinite(grads).all()))
