# ok
# evidence: True
import torch
import torch.nn as nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)
net = nn.Linear(3, 1)
params = {k: v.detach() for k, v in net.named_parameters()}


def loss_fn(p, x, y):
    return ((functional_call(net, p, (x,)) - y) ** 2).mean()


x, y = torch.randn(6, 3), torch.randn(6, 1)
per_sample = vmap(grad(loss_fn), in_dims=(None, 0, 0))(params, x.unsqueeze(1), y.unsqueeze(1))
print({k: v.shape for k, v in per_sample.items()}, net.weight.grad is None, per_sample["weight"].requires_grad)
print("evidence:", net.weight.grad is None)
