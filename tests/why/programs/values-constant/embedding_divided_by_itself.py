# values-constant
# evidence: spread of the scale: 0.0
import torch
import torch.nn as nn
import torch.nn.functional as F


class Gate(nn.Module):
    """Scales each sample by how far it stands out."""

    def __init__(self, dim):
        super().__init__()
        self.energy = nn.Linear(dim, 1)

    def forward(self, h):
        scale = torch.exp(self.energy(h)).squeeze(-1)
        scale = scale / scale.unsqueeze(-1).sum(-1)  #C
        return h * scale[:, None]  #C


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(6, 24), nn.Tanh())
        self.gate = Gate(24)
        self.out = nn.Linear(24, 2)

    def forward(self, x):
        return self.out(self.gate(self.inner(x)))


def main():
    torch.manual_seed(0)
    model = Scorer()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(40):
        x = torch.randn(32, 6)
        loss = F.cross_entropy(model(x), (x[:, 0] * x[:, 1] > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    energy = torch.exp(model.gate.energy(model.inner(x))).squeeze(-1)
    print(f"evidence: spread of the scale: {(energy / energy.unsqueeze(-1).sum(-1)).std().item()}")


main()
