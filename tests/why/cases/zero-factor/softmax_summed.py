# zero-factor | zero | sum to 1, softmax
# evidence: True
import torch

logits = torch.tensor([0.1, -0.2, 0.3, 0.0], requires_grad=True)
p = logits.softmax(0)  #C
p.sum().backward()
g = logits.grad  #R
print("evidence:", bool(g.abs().max() < 1e-6))
