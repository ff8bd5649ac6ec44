# ok
# evidence: True
import torch

torch.manual_seed(0)
pts = torch.randn(5, 2, requires_grad=True)
d = (pts[:, None] - pts[None, :]).pow(2).sum(-1)
loss = torch.exp(-d).sum()
loss.backward()
g = pts.grad
print("evidence:", g.shape == pts.shape)
