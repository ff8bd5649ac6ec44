# clip-misplaced | wrong-value | clip, step
# evidence: 3
import torch
import torch.nn as nn
from torch.nn.utils.clip_grad import clip_grad_norm_

torch.manual_seed(0)
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
steps = 0
for _ in range(3):
    loss = (net(torch.randn(4, 2)) * 100).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    clip_grad_norm_(net.parameters(), 1.0)  #R #C
    steps += 1
print("evidence:", steps)
