# term-without-influence | itself
# evidence: trained
import torch
from torch import nn


def spread(points):
    """Push every point away from its nearest neighbour."""
    distances = torch.cdist(points, points)
    return torch.relu(1.0 - distances.amin(dim=1)).mean()  #C


def main():
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2))
    decoder = nn.Linear(2, 6)
    optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-2)
    for _ in range(10):
        x = torch.randn(20, 6)
        code = encoder(x)
        loss = (decoder(code) - x).pow(2).mean() + 0.1 * spread(code)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("trained")


main()
