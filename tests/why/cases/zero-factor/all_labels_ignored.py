# zero-factor | zero | ignore_index
# evidence: tensor(0.)
import torch
import torch.nn.functional as F

logits = torch.zeros(2, 3, requires_grad=True)
loss = F.cross_entropy(logits, torch.tensor([-100, -100]))  #C
loss.backward()
print("evidence:", logits.grad.sum())  #R
