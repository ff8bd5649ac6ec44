# value-copied-out, detach | none | numpy, graph/history
# evidence: True
import numpy as np
import torch

torch.manual_seed(0)
centers = torch.randn(3, 2, requires_grad=True)
scale = torch.ones(3, requires_grad=True)
points = torch.randn(7, 2)


def distances(p, c):
    diff = p.numpy()[:, None] - c.detach().numpy()[None]  #C
    return torch.from_numpy(np.sqrt((diff ** 2).sum(-1)))  #C


d = distances(points, centers) * scale
loss = d.min(1).values.mean()
loss.backward()
g = centers.grad  #R
print("evidence:", g is None)
