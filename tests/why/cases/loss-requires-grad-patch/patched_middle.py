# loss-requires-grad-patch, detach, non-differentiable-op | none | requires_grad
# evidence: True True
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Linear(3, 4)
logits = net(torch.randn(5, 3))
guess = logits.argmax(1).float()  #C
guess.requires_grad_(True)  #C
loss = ((guess - torch.arange(5.0)) ** 2).mean()
loss.backward()
g = net.weight.grad  #R
print("evidence:", g is None, loss.requires_grad)
