# optimizer-state-lost, optimizer-recreated, parameter-rewrapped | state/moment, parameter, new/replac/rewrap/swap/other
# evidence: adam step counter of the constrained weight after 40 steps: 1
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class MixtureModel(nn.Module):
    """Explains spectra as nonnegative mixtures of learned components."""

    def __init__(self, n_bands=20, n_components=4):
        super().__init__()
        self.unmix = nn.Sequential(nn.Linear(n_bands, 24), nn.Tanh(), nn.Linear(24, n_components), nn.Softplus())
        self.components = nn.Linear(n_components, n_bands, bias=False)
        nn.init.uniform_(self.components.weight, 0.0, 0.5)

    def forward(self, x):
        return self.components(self.unmix(x))


def make_spectra(n=128, n_bands=20):
    grid = torch.linspace(0, 1, n_bands)
    peaks = torch.stack([torch.exp(-((grid - c) / 0.1) ** 2) for c in (0.2, 0.45, 0.8)])
    return torch.rand(n, 3) @ peaks + 0.01 * torch.rand(n, n_bands)


class ProjectedTrainer:
    def __init__(self, model, lr=5e-3):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.steps = 0

    def project(self):
        """Keeps the components nonnegative."""
        weight = self.model.components.weight
        self.model.components.weight = nn.Parameter(weight.detach().clamp(min=0.0))  #C
        self.optimizer.param_groups[0]["params"] = list(self.model.parameters())  #C

    def step(self, x):
        loss = nn.functional.mse_loss(self.model(x), x)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.steps += 1
        self.last_state = self.optimizer.state[self.model.components.weight]
        self.project()
        return loss.item()


def main():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(make_spectra()), batch_size=32, shuffle=True)
    trainer = ProjectedTrainer(MixtureModel())
    for epoch in range(10):
        losses = [trainer.step(x) for (x,) in loader]
        if epoch % 2 == 0:
            print(f"epoch {epoch}: mse {sum(losses) / len(losses):.5f}")
    counter = int(trainer.last_state["step"])
    print(f"adam step counter of the constrained weight after {trainer.steps} steps: {counter}")


if __name__ == "__main__":
    main()
