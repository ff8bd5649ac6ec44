# ok
# evidence: True False
import copy
import torch
from torch import nn

torch.manual_seed(0)
q_enc = nn.Linear(8, 4)
k_enc = copy.deepcopy(q_enc).requires_grad_(False)
queue = nn.functional.normalize(torch.randn(4, 16), dim=0)
opt = torch.optim.SGD(q_enc.parameters(), lr=0.05, momentum=0.9)
for step in range(3):
    with torch.no_grad():
        for pk, pq in zip(k_enc.parameters(), q_enc.parameters()):
            pk.data.mul_(0.99).add_(pq.data, alpha=0.01)
    x = torch.randn(5, 8)
    q = nn.functional.normalize(q_enc(x), dim=1)
    with torch.no_grad():
        k = nn.functional.normalize(k_enc(x + 0.1), dim=1)
    pos = (q * k).sum(1, keepdim=True)
    neg = q @ queue.clone().detach()
    loss = nn.functional.cross_entropy(torch.cat([pos, neg], 1) / 0.07, torch.zeros(5, dtype=torch.long))
    opt.zero_grad()
    loss.backward()
    opt.step()
    queue = torch.cat([queue[:, 5:], k.T], dim=1)
g = q_enc.weight.grad
print("evidence:", g is not None, k.requires_grad)
