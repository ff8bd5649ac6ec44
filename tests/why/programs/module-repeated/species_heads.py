# module-repeated | same/share/repeat/once/only one/one module
# evidence: heads give different outputs: False
import torch
import torch.nn as nn
import torch.nn.functional as F

SPECIES = ["oak", "pine", "birch"]


class GrowthModel(nn.Module):
    """Shared climate encoder, one growth curve per species."""

    def __init__(self, n_in=5, dim=16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_in, dim), nn.ReLU(), nn.Linear(dim, dim), nn.ReLU())
        self.heads = nn.ModuleDict(dict.fromkeys(SPECIES, nn.Linear(dim, 1)))  #C

    def forward(self, climate, species):
        return self.heads[species](self.encoder(climate)).squeeze(-1)


def plots(species, n=16):
    climate = torch.randn(n, 5)
    slope = {"oak": 1.0, "pine": -1.0, "birch": 0.2}[species]
    return climate, slope * climate[:, 0] + 0.1 * torch.randn(n)


def train(model, rounds=30):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for r in range(rounds):
        report = []
        for species in SPECIES:
            climate, growth = plots(species)
            loss = F.mse_loss(model(climate, species), growth)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            report.append(f"{species} {loss.item():.3f}")
        if r % 10 == 9:
            print(f"round {r}: " + ", ".join(report))


def main():
    torch.manual_seed(24)
    model = GrowthModel()
    train(model)
    climate = torch.randn(8, 5)
    with torch.no_grad():
        out = torch.stack([model(climate, s) for s in SPECIES])
    print("heads give different outputs:", not torch.equal(out[0], out[1]))


if __name__ == "__main__":
    main()
