# step-missing, not-in-optimizer | no-update | step
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
opt = torch.optim.Adam(model.parameters(), lr=0.1)
start = model.weight.detach().clone()
x, y = torch.randn(8, 3), torch.randn(8, 1)
for epoch in range(4):
    opt.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()  #R #C
print("evidence:", torch.equal(start, model.weight))
