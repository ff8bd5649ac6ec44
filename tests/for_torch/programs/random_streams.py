import hashlib
import random

import numpy as np
import torch
import torch.nn as nn

random.seed(1)
np.random.seed(2)
torch.manual_seed(3)
print(torch.initial_seed(), torch.rand(2))
net = nn.Sequential(nn.Linear(4, 16), nn.Dropout(0.3), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.AdamW(net.parameters())
for step in range(12):
    x = torch.randn(8, 4) + random.random() + float(np.random.rand())
    optimizer.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    print(step, loss.item(), torch.randperm(5).tolist(), random.randrange(100), np.random.randint(100))
print(hashlib.sha256(torch.get_rng_state().numpy().tobytes()).hexdigest()[:16])
print(hash(random.getstate()[1]), int(np.random.get_state()[1].sum()))
with torch.random.fork_rng():
    torch.manual_seed(9)
    torch.rand(2)
print(torch.rand(2), torch.bernoulli(torch.full((4,), 0.5)), torch.normal(0.0, 1.0, (2,)))
generator = torch.Generator().manual_seed(5)
print(torch.rand(2, generator=generator), nn.functional.gumbel_softmax(torch.zeros(3)))
