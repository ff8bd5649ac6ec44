# ok
# evidence: True False
import torch
import torch.nn as nn

torch.manual_seed(0)
backbone = nn.Sequential(nn.Conv2d(3, 6, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
for p in backbone.parameters():
    p.requires_grad = False
head = nn.Linear(6, 2)
opt = torch.optim.SGD(head.parameters(), lr=0.1)
x, y = torch.randn(5, 3, 9, 9), torch.randint(0, 2, (5,))
for _ in range(2):
    loss = nn.functional.cross_entropy(head(backbone(x)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
g = backbone[0].weight.grad
print("backbone gradient:", g, "head:", head.weight.grad.norm().item())
print("evidence:", g is None, backbone[0].weight.requires_grad)
