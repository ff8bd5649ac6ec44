# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 10), nn.ReLU(), nn.Linear(10, 3)).eval()
for p in model.parameters():
    p.requires_grad_(False)
x, y = torch.rand(4, 5), torch.randint(0, 3, (4,))
adv = x.clone()
for i in range(5):
    adv = adv.detach().requires_grad_(True)
    loss = nn.functional.cross_entropy(model(adv), y)
    loss.backward()
    step = 0.05 * adv.grad.sign()
    adv = torch.min(torch.max(adv + step, x - 0.2), x + 0.2).clamp(0, 1)
adv = adv.detach()
with torch.no_grad():
    flipped = (model(adv).argmax(1) != model(x).argmax(1)).sum().item()
print("flipped", flipped, "weights:", model[0].weight.grad)
print("evidence:", adv.requires_grad)
print("evidence:", model[0].weight.grad is None)
