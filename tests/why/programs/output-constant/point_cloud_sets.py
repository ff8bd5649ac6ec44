# output-constant | mean/pool/average, batch/dim/same
# evidence: logits identical for all samples of a batch: True
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class DeepSet(nn.Module):
    """Classifies unordered clouds of points: (batch, points, 3)."""

    def __init__(self, n_classes=3, width=24):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(3, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.rho = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, n_classes))

    def forward(self, cloud):
        h = self.phi(cloud)
        pooled = h.mean(dim=(0, 1), keepdim=True)  #C
        pooled = pooled.expand(cloud.shape[0], 1, -1).squeeze(1)
        return self.rho(pooled)


def make_clouds(n, points=16):
    """Spheres, flat discs and sticks with a little noise."""
    y = torch.randint(0, 3, (n,))
    p = torch.randn(n, points, 3)
    sphere = p / p.norm(dim=2, keepdim=True)
    disc = p * torch.tensor([1.0, 1.0, 0.0])
    stick = p * torch.tensor([0.0, 0.0, 1.5])
    kinds = torch.stack([sphere, disc, stick])
    x = kinds[y, torch.arange(n)] + 0.05 * torch.randn(n, points, 3)
    return TensorDataset(x, y)


class Trainer:
    def __init__(self, model, lr=1e-2):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss()
        self.spread = 0.0

    def step(self, x, y):
        logits = self.model(x)
        loss = self.criterion(logits, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.spread = max(self.spread, (logits - logits[:1]).abs().max().item())
        return loss.item(), (logits.argmax(1) == y).float().mean().item()

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.model.train()
            results = [self.step(x, y) for x, y in loader]
            loss = sum(r[0] for r in results) / len(results)
            acc = sum(r[1] for r in results) / len(results)
            print(f"epoch {epoch}: loss {loss:.4f} accuracy {acc:.2f}")


def main():
    torch.manual_seed(0)
    loader = DataLoader(make_clouds(120), batch_size=20, shuffle=True)
    trainer = Trainer(DeepSet())
    trainer.fit(loader, epochs=8)
    print("logits identical for all samples of a batch:", trainer.spread < 1e-5)


if __name__ == "__main__":
    main()
