# not-in-optimizer | no-update | optimizer
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)


def build():
    return nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1))


model = build()
opt = torch.optim.SGD(model.parameters(), lr=0.1)  #C
model = build()  #C
w0 = model[0].weight.detach().clone()
x, y = torch.randn(10, 2), torch.randn(10, 1)
for _ in range(3):
    loss = nn.functional.mse_loss(model(x), y)
    model.zero_grad()
    loss.backward()
    opt.step()
g = model[0].weight.grad  #R
print("evidence:", torch.equal(w0, model[0].weight))
