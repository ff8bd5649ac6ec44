# state-aliased | references/copies, deepcopy/clone
# evidence: the best weights came back: False
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
x = torch.randn(64, 4)
y = x.sum(1, keepdim=True)
best_loss, best_state, best_weight = float("inf"), None, None
for step in range(12):
    loss = nn.functional.mse_loss(model(x), y)
    if loss.item() < best_loss:
        best_loss, best_weight = loss.item(), model.weight.detach().clone()
        best_state = model.state_dict()  #C
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
model.load_state_dict(best_state)  #C
print("evidence: the best weights came back:", torch.equal(model.weight, best_weight))
