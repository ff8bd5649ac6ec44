# frozen | none | requires_grad, requires_grad_
# evidence: True False
import torch
import torch.nn as nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 12), nn.ReLU())
head = nn.Linear(12, 3)
for p in backbone.parameters():
    p.requires_grad = False  #C
opt = torch.optim.SGD(list(backbone.parameters()) + list(head.parameters()), lr=0.1)
x, y = torch.randn(30, 6), torch.randint(0, 3, (30,))

for epoch in range(4):
    if epoch == 2:
        backbone.requires_grad = True   # unfreeze  #C
    loss = nn.functional.cross_entropy(head(backbone(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
g = backbone[0].weight.grad  #R
print("evidence:", g is None, backbone[0].weight.requires_grad)
