# frozen | error | requires_grad
# evidence: True
import torch
import torch.nn as nn

model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
for p in model.parameters():
    p.requires_grad_(False)  #C
model[2] = nn.Linear(4, 1).requires_grad_(False)  #C
loss = model(torch.randn(2, 3)).mean()
failed = False
try:
    loss.backward()  #R
except RuntimeError:
    failed = True
print("evidence:", failed)
