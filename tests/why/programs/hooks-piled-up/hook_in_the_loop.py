# hooks-piled-up | forward hooks/registration, remove
# evidence: 55 norms of 10 steps
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
norms = []


def keep_norm(module, args, output):  #C
    norms.append(output.norm().item())


for step in range(10):
    model.register_forward_hook(keep_norm)  #C
    x = torch.randn(16, 4)
    loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("evidence:", len(norms), "norms of 10 steps")
