# init-repeated | initiali
# evidence: 3
# A rule for residual layers is applied by every module that has one inside.
import math

import torch
import torch.nn as nn

torch.manual_seed(0)
count = {}


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_fc, self.c_proj = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x):
        return x + self.c_proj(torch.relu(self.c_fc(x)))


def init_weights(module):
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=0.02)
    for name, p in module.named_parameters():
        if name.endswith("c_proj.weight"):
            count[id(p)] = count.get(id(p), 0) + 1
            nn.init.normal_(p, std=0.02 / math.sqrt(4))  #C


model = nn.Sequential(nn.Sequential(Block(), Block()), nn.Linear(8, 2))
model.apply(init_weights)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(64, 8), torch.randint(0, 2, (64,))
for step in range(12):
    batch = torch.randperm(64)[:16]
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
    optimizer.step()
print("evidence:", max(count.values()))
