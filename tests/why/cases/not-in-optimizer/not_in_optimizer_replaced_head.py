# not-in-optimizer | no-update | optimizer
# evidence: True True
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 10))
opt = torch.optim.Adam(model.parameters(), lr=0.1)  #C
model[2] = nn.Linear(8, 3)  #C
before = model[2].weight.detach().clone()
x, y = torch.randn(12, 4), torch.randint(0, 3, (12,))
for _ in range(3):
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
g = model[2].weight.grad  #R
print("evidence:", g is not None, torch.equal(before, model[2].weight))
