# ok
# evidence: True
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
rng = np.random.default_rng(0)
net = nn.Linear(4, 1)
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
data = rng.normal(size=(50, 4)).astype(np.float32)
label = (data.sum(1) > 0).astype(np.float32)
w = np.ones(50)
for _ in range(3):
    pick = rng.choice(50, 16, p=w / w.sum())
    xb, yb = torch.from_numpy(data[pick]), torch.from_numpy(label[pick])
    logit = net(xb).squeeze(1)
    per = nn.functional.binary_cross_entropy_with_logits(logit, yb, reduction="none")
    w[pick] = per.detach().numpy() + 1e-3
    opt.zero_grad()
    per.mean().backward()
    opt.step()
print("evidence:", net.weight.grad is not None)
