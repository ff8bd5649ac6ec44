# detach | none | detach
# evidence: True
import torch


def normalise(v):
    v = v.detach()  #C
    return (v - v.mean()) / (v.std() + 1e-6)


scale = torch.randn(4, requires_grad=True)
bias = torch.zeros(4, requires_grad=True)
out = normalise(scale * torch.arange(4.0)) + bias
out.pow(2).sum().backward()
print("evidence:", scale.grad is None)  #R
