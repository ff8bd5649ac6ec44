# ok
# evidence: 6
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 2))
decay, plain = [], []
for name, p in net.named_parameters():
    (decay if p.ndim > 1 else plain).append(p)
opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}], lr=1e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=4)
best = float("inf")
for epoch in range(4):
    x, y = torch.randn(16, 4), torch.randint(0, 2, (16,))
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    opt.step()
    sched.step()
    norms = [round(p.grad.norm().item(), 3) for p in net.parameters() if p.grad is not None]
    opt.zero_grad()
    if loss.item() < best:
        best, state = loss.item(), {k: v.clone() for k, v in net.state_dict().items()}
net.load_state_dict(state)
print(norms, all(p.grad is None for p in net.parameters()))
print("evidence:", len(norms))
print("evidence:", len(norms))
