# grad-mode-off | error | inference
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
net, probe = nn.Linear(3, 5), nn.Linear(5, 1)
cache = {}


@torch.inference_mode()  #C
def remember(key, x):
    cache[key] = torch.relu(net(x))


remember("a", torch.randn(4, 3))
caught = ""
try:
    out = probe(cache["a"])  #R #C
    out.mean().backward()
except RuntimeError as exc:
    caught = str(exc)
print("evidence:", caught.startswith("Inference tensors cannot be saved"))
