# hook-late-binding | last
# evidence: trained
import torch
import torch.nn.functional as F
from torch import nn


def slow_down(layers):
    """Gradients of early layers are made smaller."""
    for depth, layer in enumerate(layers):
        scale = torch.tensor(0.5 ** (len(layers) - depth))
        layer.weight.register_hook(lambda g: g * scale)  #C


def main():
    torch.manual_seed(0)
    layers = [nn.Linear(6, 6) for _ in range(4)]
    model = nn.Sequential(*layers, nn.Linear(6, 1))
    slow_down(layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(8):
        x = torch.randn(16, 6)
        loss = F.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("trained")


main()
