# zero-factor | zero | softmax, sum
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
att = nn.Linear(4, 5, bias=False)
probs = torch.softmax(att(torch.randn(3, 4)), dim=-1)  #C
loss = probs.sum()  #C
loss.backward()
small = att.weight.grad.abs().max().item()  #R
print("evidence:", small < 1e-6)
print("evidence:", small < 1e-6)
