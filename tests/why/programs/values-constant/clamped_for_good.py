# values-constant, zero-local-derivative, zero-factor
# evidence: gates: 1.0 to 1.0
import torch
import torch.nn as nn


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(5, 1), nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
        self.gate = nn.Linear(5, 1)

    def forward(self, x):
        g = torch.clamp(self.gate(x) + 10.0, 0.0, 1.0)  #C
        return g * self.left(x) + (1 - g) * self.right(x)  #C


def fit(model, steps=60):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(steps):
        x = torch.randn(32, 5)
        loss = (model(x).squeeze(1) - x[:, 0] ** 2).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(0)
mixture = Mixture()
fit(mixture)
g = torch.clamp(mixture.gate(torch.randn(100, 5)) + 10.0, 0.0, 1.0)
print(f"evidence: gates: {g.min().item()} to {g.max().item()}")
