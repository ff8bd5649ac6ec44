# no-backward | no-update, none | backward
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
opt = torch.optim.Adam(model.parameters(), lr=0.1)
x, y = torch.randn(20, 3), torch.randn(20, 1)
before = model.weight.clone()
for epoch in range(5):
    opt.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward
    opt.step()  #R #C
print("evidence:", torch.equal(before, model.weight))
