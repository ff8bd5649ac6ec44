# non-leaf-no-retain | none | leaf, retain_grad
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
cnn = nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 5))
kept = {}


def save(name):
    def hook(module, inputs, output):
        kept[name] = output
    return hook


cnn[0].register_forward_hook(save("conv"))
scores = cnn(torch.randn(2, 1, 8, 8))  #C
scores[:, 1].sum().backward()
fmap = kept["conv"]
g = fmap.grad  #R
print("cam weights:", None if g is None else g.mean(dim=(2, 3)))
print("evidence:", g is None, fmap.requires_grad)
print("evidence:", g is None)
