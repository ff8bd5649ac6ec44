# ok
# evidence: True
import copy
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 5), nn.GELU(), nn.Linear(5, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
x, y = torch.randn(12, 3), torch.randn(12, 1)
best, best_state = float("inf"), None
for epoch in range(4):
    opt.zero_grad()
    loss = nn.functional.smooth_l1_loss(model(x), y)
    loss.backward()
    opt.step()
    if loss.item() < best:
        best, best_state = loss.item(), copy.deepcopy(model.state_dict())
model.load_state_dict(best_state)
g = model[0].weight.grad
print("evidence:", g is not None)
