# ok
# evidence: True True
import copy
import torch
import torch.nn as nn

torch.manual_seed(0)
q = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
target = copy.deepcopy(q)
opt = torch.optim.Adam(q.parameters(), lr=1e-3)
for step in range(4):
    s, s2 = torch.randn(8, 4), torch.randn(8, 4)
    act, rew = torch.randint(0, 2, (8,)), torch.randn(8)
    with torch.no_grad():
        best = target(s2).max(1).values
        goal = rew + 0.99 * best
    value = q(s).gather(1, act.unsqueeze(1)).squeeze(1)
    loss = nn.functional.smooth_l1_loss(value, goal)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 2:
        target.load_state_dict(q.state_dict())
g = q[0].weight.grad
print("evidence:", g is not None, all(p.grad is None for p in target.parameters()))
