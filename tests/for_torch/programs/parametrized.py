import torch
import torch.nn as nn
from torch.nn.utils import parametrizations, parametrize, prune

torch.manual_seed(0)


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).transpose(-1, -2)


line = nn.Linear(3, 3)
parametrize.register_parametrization(line, "weight", Symmetric())
line(torch.ones(2, 3)).sum().backward()
print(type(line).__name__, line.weight, line.parametrizations.weight.original.grad)
with parametrize.cached():
    print(line.weight is line.weight)
for wrap in (parametrizations.weight_norm, parametrizations.spectral_norm, parametrizations.orthogonal):
    layer = wrap(nn.Linear(3, 3))
    layer(torch.ones(2, 3)).pow(2).sum().backward()
    print(wrap.__name__, sorted(layer.state_dict()), [p.grad.sum().item() for p in layer.parameters()])
pruned = prune.l1_unstructured(nn.Linear(4, 2), "weight", amount=0.5)
pruned(torch.ones(1, 4)).sum().backward()
print(pruned.weight_orig.grad, pruned.weight_mask)
parametrize.remove_parametrizations(line, "weight")
print(type(line.weight).__name__, line)
swa = torch.optim.swa_utils.AveragedModel(line)
swa.update_parameters(line)
print([tuple(p.shape) for p in swa.parameters()])
