# frozen | none | requires_grad, frozen/switched off/false
# evidence: True
import torch
import torch.nn as nn

body, head = nn.Linear(3, 3), nn.Linear(3, 1)
for p in body.parameters():
    p.requires_grad = False  #C
loss = head(torch.tanh(body(torch.randn(4, 3)))).mean()
loss.backward()
g = body.weight.grad  #R
print("evidence:", g is None)
