# grad-cleared | zero_grad/cleared/zeroed/erased, step
# evidence: encoder moved: False
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Encoder(nn.Module):
    def __init__(self, n_in=12, dim=8):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(n_in, 32), nn.ReLU())
        self.projector = nn.Linear(32, dim)

    def forward(self, x):
        return F.normalize(self.projector(self.backbone(x)), dim=-1)


def info_nce(a, b, temperature=0.2):
    logits = a @ b.t() / temperature
    return F.cross_entropy(logits, torch.arange(len(a)))


class Monitor:
    """Keeps track of how well views of the same object match."""

    def __init__(self, model):
        self.model = model
        self.hits = []

    def update(self, a, b):
        self.model.zero_grad()  #C
        with torch.no_grad():
            self.hits.append(((a @ b.t()).argmax(1) == torch.arange(len(a))).float().mean().item())


def augment(x):
    return x + 0.3 * torch.randn_like(x)


def train(model, loader, epochs=5, lr=3e-3):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    monitor = Monitor(model)
    for epoch in range(epochs):
        total = 0.0
        for (x,) in loader:
            a, b = model(augment(x)), model(augment(x))
            loss = info_nce(a, b)
            optimizer.zero_grad()
            loss.backward()
            monitor.update(a, b)  #C
            optimizer.step()  #C
            total += loss.item()
        print(f"epoch {epoch} nce {total / len(loader):.4f} match {monitor.hits[-1]:.2f}")


def main():
    torch.manual_seed(60)
    model = Encoder()
    before = torch.cat([p.detach().flatten() for p in model.parameters()])
    train(model, DataLoader(TensorDataset(torch.randn(96, 12)), batch_size=16, shuffle=True))
    after = torch.cat([p.detach().flatten() for p in model.parameters()])
    print("encoder moved:", not torch.equal(before, after))


if __name__ == "__main__":
    main()
