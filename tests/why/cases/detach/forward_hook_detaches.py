# detach | none | detach
# evidence: ['0.weight', '0.bias']
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
feats = {}


def save_features(name):
    def hook(module, inputs, output):
        output = output.detach()  #C
        feats[name] = output
        return output
    return hook


model[1].register_forward_hook(save_features("relu"))
x, y = torch.randn(5, 4), torch.randint(0, 2, (5,))
loss = nn.functional.cross_entropy(model(x), y)
loss.backward()
missing = [n for n, p in model.named_parameters() if p.grad is None]  #R
print("evidence:", missing)
