# frozen, unused-in-loss | none | requires_grad, after/before/late
# evidence: True True
import torch
import torch.nn as nn

body, head = nn.Linear(3, 3), nn.Linear(3, 1)
body.requires_grad_(False)  #C
loss = head(body(torch.randn(4, 3))).mean()
body.requires_grad_(True)  #C
loss.backward()
g = body.weight.grad  #R
print("evidence:", g is None, body.weight.requires_grad)
