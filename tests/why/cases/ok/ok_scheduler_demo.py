# ok
# evidence: 3
import torch
import torch.nn as nn

opt = torch.optim.SGD(nn.Linear(1, 1).parameters(), lr=1.0)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.5)
lrs = []
for _ in range(3):
    opt.step()
    sched.step()
    lrs.append(sched.get_last_lr()[0])
print("evidence:", len(lrs))
