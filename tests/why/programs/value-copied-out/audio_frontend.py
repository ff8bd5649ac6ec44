# value-copied-out, detach | numpy
# evidence: filters changed: False
# parameters: filters.weight, filters.bias
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(14)


class Tones(Dataset):
    def __init__(self, n=128, length=64, classes=4):
        g = torch.Generator().manual_seed(0)
        self.y = torch.randint(0, classes, (n,), generator=g)
        t = torch.arange(length) / length
        phase = torch.rand(n, 1, generator=g) * 6.28
        freq = (2.0 + 3.0 * self.y.float())[:, None]
        self.x = torch.sin(6.28318 * freq * t + phase) + 0.2 * torch.randn(n, length, generator=g)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i][None], self.y[i]


class ToneNet(nn.Module):
    def __init__(self, n_filters=12, classes=4):
        super().__init__()
        self.filters = nn.Conv1d(1, n_filters, 15, stride=4)
        self.mlp = nn.Sequential(nn.Linear(n_filters, 32), nn.ReLU(), nn.Linear(32, classes))

    def log_energy(self, bands):
        power = np.square(bands.detach().numpy()).mean(axis=-1)  #C
        return torch.from_numpy(np.log1p(10.0 * power))  #C

    def forward(self, wave):
        return self.mlp(self.log_energy(self.filters(wave)))


def run_epoch(model, loader, optimizer):
    model.train()
    total, hits = 0.0, 0
    for wave, y in loader:
        logits = model(wave)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
        hits += (logits.argmax(1) == y).sum().item()
    return total / len(loader.dataset), hits / len(loader.dataset)


def main():
    loader = DataLoader(Tones(), batch_size=32, shuffle=True)
    model = ToneNet()
    initial = model.filters.weight.detach().clone()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(6):
        loss, acc = run_epoch(model, loader, optimizer)
        print(f"epoch {epoch} loss {loss:.3f} acc {acc:.3f}")
    print("filters changed:", not torch.equal(initial, model.filters.weight))


if __name__ == "__main__":
    main()
