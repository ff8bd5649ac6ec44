# ok
# evidence: False True
import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 10), nn.Tanh(), nn.Linear(10, 1))
opt = torch.optim.Adam(net.parameters(), lr=0.01)
t = torch.linspace(0, 1, 30).unsqueeze(1)
y = torch.sin(6 * t)
curves = []
for epoch in range(4):
    pred = net(t)
    loss = nn.functional.mse_loss(pred, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    shown = pred.detach()
    curves.append(shown.numpy().copy())
print("evidence:", shown.requires_grad, np.stack(curves).shape == (4, 30, 1))
