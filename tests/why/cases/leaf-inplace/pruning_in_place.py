# leaf-inplace | error | leaf, in-place/in place, no_grad
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
lin = nn.Linear(4, 4)


def prune(layer, threshold):
    mask = layer.weight.abs() > threshold
    layer.weight *= mask  #R #C


hit = False
try:
    prune(lin, 0.2)
except RuntimeError as e:
    hit = "leaf Variable" in str(e)
print("evidence:", hit)
