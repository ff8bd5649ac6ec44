# stale-grad-after-freeze | stale | requires_grad, earlier/left over/stale, none/zero_grad/clear
# evidence: False True
import torch
import torch.nn as nn

torch.manual_seed(1)
model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(8, 2), torch.randn(8, 1)
for step in range(3):
    if step == 2:
        for p in model[0].parameters():
            p.requires_grad_(False)  #C
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    opt.step()
    model[2].zero_grad()
    if step < 2:
        model[0].zero_grad(set_to_none=False) if step == 0 else None
g = model[0].weight.grad  #R
print("evidence:", model[0].weight.requires_grad, g is not None)
