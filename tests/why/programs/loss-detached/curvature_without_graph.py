# loss-detached, no-create-graph | create_graph
# evidence: trained
import torch
from torch import nn


class Energy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))

    def forward(self, x):
        return self.net(x)


def force_loss(energy, x, wanted):
    x = x.clone().requires_grad_()
    force = -torch.autograd.grad(energy(x).sum(), x)[0]  #C
    return (force - wanted * x).pow(2).mean()


def main():
    torch.manual_seed(0)
    energy = Energy()
    optimizer = torch.optim.Adam(energy.parameters(), lr=1e-2)
    for _ in range(10):
        x = torch.randn(16, 2)
        loss = (energy(x).squeeze(-1) - x.pow(2).sum(1)).pow(2).mean() + force_loss(energy, x, -2.0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("trained")


main()
