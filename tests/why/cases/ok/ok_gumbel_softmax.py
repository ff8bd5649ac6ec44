# ok
# evidence: True
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
logits = nn.Parameter(torch.zeros(4, 3))
values = torch.randn(3, 2)
opt = torch.optim.SGD([logits], lr=0.5)
for _ in range(3):
    y = F.softmax((logits + torch.randn_like(logits)) / 0.5, -1)
    hard = F.one_hot(y.argmax(-1), 3).float()
    st = hard - y.detach() + y
    loss = (st @ values).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
g = logits.grad
print("evidence:", g is not None)
