# ok
# evidence: True
import copy
import torch
import torch.nn as nn

torch.manual_seed(0)
actor, q = nn.Linear(3, 1), nn.Linear(4, 1)
q_t = copy.deepcopy(q)
for p in q_t.parameters():
    p.requires_grad = False
log_alpha = torch.zeros(1, requires_grad=True)
oa, oq, ol = (torch.optim.Adam(actor.parameters()), torch.optim.Adam(q.parameters()), torch.optim.Adam([log_alpha]))
for _ in range(3):
    s, a, r, s2 = torch.randn(8, 3), torch.randn(8, 1), torch.randn(8, 1), torch.randn(8, 3)
    with torch.no_grad():
        backup = r + 0.9 * q_t(torch.cat([s2, actor(s2)], 1))
    lq = (q(torch.cat([s, a], 1)) - backup).pow(2).mean()
    oq.zero_grad(); lq.backward(); oq.step()
    for p in q.parameters():
        p.requires_grad = False
    pi = actor(s)
    la = (log_alpha.exp().detach() * pi.pow(2) - q(torch.cat([s, pi], 1))).mean()
    oa.zero_grad(); la.backward(); oa.step()
    for p in q.parameters():
        p.requires_grad = True
    ll = -(log_alpha * (pi.detach().pow(2) - 1)).mean()
    ol.zero_grad(); ll.backward(); ol.step()
    with torch.no_grad():
        for p, pt in zip(q.parameters(), q_t.parameters()):
            pt.data.mul_(0.995); pt.data.add_(0.005 * p.data)
print("evidence:", actor.weight.grad is not None and log_alpha.grad is not None)
