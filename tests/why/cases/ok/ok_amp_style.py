# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.SiLU(), nn.Linear(8, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
x, y = torch.randn(20, 4), torch.randn(20, 1)
losses = []
for epoch in range(5):
    perm = torch.randperm(20)
    for i in range(0, 20, 5):
        idx = perm[i:i + 5]
        pred = model(x[idx])
        loss = ((pred - y[idx]) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        if torch.isfinite(model[0].weight.grad).all():
            opt.step()
    losses.append(float(loss))
print("evidence:", len(losses) == 5)
