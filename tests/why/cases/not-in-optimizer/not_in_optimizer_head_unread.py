# not-in-optimizer | no-update | model.2.weight
# evidence: 0.0
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
model[2] = nn.Linear(8, 3)  #C
x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
before = model[2].weight.clone()
for _ in range(3):
    opt.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    opt.step()  #R
print("evidence:", (model[2].weight - before).abs().max().item())
