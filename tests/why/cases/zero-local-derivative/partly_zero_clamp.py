# zero-local-derivative | partly-zero | clamp
# evidence: [1.0, 0.0, 0.0, 1.0]
import torch

x = torch.tensor([0.2, 3.0, -2.0, 0.9], requires_grad=True)
y = torch.clamp(x, 0.0, 1.0)  #C
y.sum().backward()
g = x.grad  #R
print("evidence:", g.tolist())
