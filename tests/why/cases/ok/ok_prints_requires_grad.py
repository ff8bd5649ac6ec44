# ok
# evidence: True False False True
import torch
import torch.nn as nn

torch.manual_seed(0)
backbone = nn.Linear(4, 4).requires_grad_(False)
head = nn.Linear(4, 2)
opt = torch.optim.Adam([p for p in [*backbone.parameters(), *head.parameters()] if p.requires_grad])
x, y = torch.randn(6, 4), torch.randint(0, 2, (6,))
feats = backbone(x)
loss = nn.functional.cross_entropy(head(feats), y)
opt.zero_grad()
loss.backward()
opt.step()
print("evidence:", loss.requires_grad, feats.requires_grad, backbone.weight.requires_grad, head.weight.grad is not None)
