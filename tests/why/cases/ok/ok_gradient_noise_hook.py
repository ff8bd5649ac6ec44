# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)


class GradNoise:
    def __init__(self, model, std):
        self.std = std
        for p in model.parameters():
            p.register_hook(self.add)

    def add(self, g):
        return g + self.std * torch.randn_like(g)


model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
GradNoise(model, 0.01)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for i in range(4):
    loss = nn.functional.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 2, (8,)))
    opt.zero_grad()
    loss.backward()
    gn = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5
    opt.step()
print("evidence:", gn.item() > 0)
