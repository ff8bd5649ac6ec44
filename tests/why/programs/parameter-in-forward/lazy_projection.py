# parameter-in-forward, not-in-optimizer | optimizer, forward/created/after/lazily/lazy/first call
# evidence: projection changed by training: False
# parameters: proj.weight, proj.bias
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class SpectrumNet(nn.Module):
    """The flattened size depends on the recording, so the projection is made on first use."""

    def __init__(self, classes=3, dim=24):
        super().__init__()
        self.conv = nn.Conv1d(1, 4, 4, stride=2)
        self.dim = dim
        self.proj = None
        self.out = nn.Linear(dim, classes)

    def forward(self, x):
        h = F.relu(self.conv(x)).flatten(1)
        if self.proj is None:
            self.proj = nn.Linear(h.size(1), self.dim)  #C
        return self.out(F.relu(self.proj(h)))


def spectra(n=120, length=20):
    y = torch.randint(0, 3, (n,))
    grid = torch.arange(length, dtype=torch.float32)
    centre = torch.tensor([4.0, 10.0, 16.0])[y].unsqueeze(1)
    x = torch.exp(-0.3 * (grid - centre).pow(2)) + 0.1 * torch.randn(n, length)
    return TensorDataset(x.unsqueeze(1), y)


def fit(model, optimizer, loader, epochs):
    criterion = nn.CrossEntropyLoss()
    first = None
    for epoch in range(epochs):
        total = 0.0
        for x, y in loader:
            loss = criterion(model(x), y)
            if first is None:
                first = model.proj.weight.detach().clone()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / len(loader):.4f}")
    return first


def main():
    torch.manual_seed(68)
    loader = DataLoader(spectra(), batch_size=20, shuffle=True)
    model = SpectrumNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)  #C
    first = fit(model, optimizer, loader, epochs=5)
    print("projection changed by training:", not torch.equal(first, model.proj.weight))


if __name__ == "__main__":
    main()
