# non-leaf-no-retain | none | leaf, retain_grad
# evidence: True
import torch
import torch.nn as nn

acts = {}


def save(name):
    def hook(module, inp, out):
        acts[name] = out
    return hook


cnn = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(32, 2))
cnn[0].register_forward_hook(save("conv"))
score = cnn(torch.randn(1, 1, 6, 6))[0, 1]  #C
score.backward()
grads = acts["conv"].grad  #R
print("evidence:", grads is None)
