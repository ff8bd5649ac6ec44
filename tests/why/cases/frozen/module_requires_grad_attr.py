# frozen | unwanted | requires_grad_, attribute/module
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
encoder, decoder = nn.Linear(5, 2), nn.Linear(2, 5)
encoder.requires_grad = False  #C
x = torch.randn(7, 5)
loss = (decoder(encoder(x)) - x).pow(2).mean()
loss.backward()
g = encoder.weight.grad  #R
print("evidence:", g is not None)
