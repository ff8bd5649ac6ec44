# frozen | none | requires_grad_, attribute/module
# evidence: True False
import torch
import torch.nn as nn

torch.manual_seed(0)
encoder, head = nn.Linear(3, 3), nn.Linear(3, 1)
encoder.requires_grad_(False)  #C
# stage two: train the encoder as well
encoder.requires_grad = True  #C
loss = head(encoder(torch.randn(4, 3))).mean()
loss.backward()
g = encoder.weight.grad  #R
print("evidence:", g is None, encoder.weight.requires_grad)
