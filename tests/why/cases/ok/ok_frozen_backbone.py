# ok
# evidence: True True
import torch
import torch.nn as nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Linear(6, 8), nn.ReLU())
head = nn.Linear(8, 2)
for p in backbone.parameters():
    p.requires_grad = False
opt = torch.optim.SGD(head.parameters(), lr=0.1)
x, y = torch.randn(10, 6), torch.randint(0, 2, (10,))
for _ in range(3):
    loss = nn.functional.cross_entropy(head(backbone(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
frozen = all(not p.requires_grad for p in backbone.parameters())
g = head.weight.grad
print("evidence:", g is not None, frozen)
