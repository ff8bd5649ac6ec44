# ok
# evidence: True
import random
import torch
import torch.nn as nn

random.seed(0)
torch.manual_seed(0)
q = nn.Linear(2, 3)
opt = torch.optim.SGD(q.parameters(), lr=0.01)
buffer = []
for step in range(12):
    s = torch.randn(2)
    a = q(s).argmax().item() if random.random() > 0.3 else random.randrange(3)
    buffer.append((s, a, random.random(), torch.randn(2)))
    if len(buffer) < 6:
        continue
    s, a, r, s2 = zip(*random.sample(buffer, 4))
    s, s2 = torch.stack(s), torch.stack(s2)
    target = torch.tensor(r) + 0.9 * q(s2).max(1).values.detach()
    pred = q(s)[torch.arange(4), torch.tensor(a)]
    loss = nn.functional.mse_loss(pred, target)
    opt.zero_grad()
    loss.backward()
    opt.step()
g = q.weight.grad
print("evidence:", g is not None)
