# ok
# evidence: trained
# Hooks that bind their values, share one that is meant to be shared, or live as long as a step.
import torch
import torch.nn.functional as F
from torch import nn


def main():
    torch.manual_seed(0)
    layers = [nn.Linear(6, 6) for _ in range(3)]
    model = nn.Sequential(*layers, nn.Linear(6, 1))
    shared = torch.tensor(0.5)
    for depth, layer in enumerate(layers):
        layer.weight.register_hook(lambda g, scale=torch.tensor(0.5 ** depth): g * scale)
        layer.bias.register_hook(lambda g: g * shared)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(8):
        x = torch.randn(16, 6)
        hidden = layers[0](x)
        keep = (torch.rand(16, 1) > 0.2).float()
        hidden.register_hook(lambda g: g * keep)
        loss = F.mse_loss(model[1:](hidden), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("trained")


main()
