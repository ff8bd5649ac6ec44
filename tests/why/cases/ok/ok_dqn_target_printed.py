# ok
# evidence: True
import copy

import torch
import torch.nn as nn

torch.manual_seed(0)
online = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 4))
target = copy.deepcopy(online)
target.requires_grad_(False)
optim = torch.optim.AdamW(online.parameters(), lr=5e-4)
memory = [(torch.randn(3), torch.randint(0, 4, ()).item(), float(i % 3 == 0), torch.randn(3)) for i in range(40)]

for step in range(6):
    batch = [memory[(7 * step + j) % 40] for j in range(8)]
    s = torch.stack([b[0] for b in batch])
    a = torch.tensor([b[1] for b in batch])
    r = torch.tensor([b[2] for b in batch])
    n = torch.stack([b[3] for b in batch])
    with torch.no_grad():
        y = r + 0.9 * target(n).max(dim=1)[0]
    q = online(s)[torch.arange(8), a]
    loss = nn.functional.mse_loss(q, y)
    optim.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_value_(online.parameters(), 100)
    optim.step()
    if step % 2 == 0:
        target.load_state_dict(online.state_dict())
print("target grads:", [p.grad for p in target.parameters()])
print("evidence:", all(p.grad is None for p in target.parameters()))
