# exploding-gradient | gradient
# evidence: readout changed by more than 1e-5: False
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(105)


class LatentDynamics(nn.Module):
    """Encodes an observation, rolls a latent state forward and predicts the final reading."""

    def __init__(self, obs=5, latent=32, horizon=40):
        super().__init__()
        self.horizon = horizon
        self.encode = nn.Linear(obs, latent)
        self.transition = nn.Parameter(torch.randn(latent, latent))  #C
        self.drift = nn.Parameter(torch.zeros(latent))
        self.readout = nn.Linear(latent, 2)

    def forward(self, x):
        z = torch.tanh(self.encode(x))
        for _ in range(self.horizon):  #C
            z = torch.tanh(z @ self.transition + self.drift)  #C
        return self.readout(z)


def trajectories(n=192):
    x = torch.randn(n, 5)
    y = torch.stack([x[:, 0].sin() + 1.0, 0.5 * x[:, 1] - 1.0], dim=1)
    return TensorDataset(x, y)


def fit(model, loader, epochs=5, lr=0.05, max_norm=1.0):
    opt = torch.optim.SGD(model.parameters(), lr=lr)
    for epoch in range(epochs):
        total = 0.0
        for x, y in loader:
            opt.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            total += loss.item() * len(x)
        print(f"epoch {epoch} mse {total / len(loader.dataset):.4f}")


def main():
    model = LatentDynamics()
    start = model.readout.weight.detach().clone()
    fit(model, DataLoader(trajectories(), batch_size=32, shuffle=True))
    change = (model.readout.weight.detach() - start).abs().max().item()
    print("readout changed by more than 1e-5:", change > 1e-5)


if __name__ == "__main__":
    main()
