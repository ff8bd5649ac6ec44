# class-never-seen | class/label, never/missing/absent/not seen/never drawn/no sample/only
# evidence: classes drawn during training: [1, 2, 3]
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler


class CallNet(nn.Module):
    """1-d convolutions over a short spectrogram row."""

    def __init__(self, n_species=4):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 8, 5, padding=2)
        self.conv2 = nn.Conv1d(8, 8, 5, padding=2, stride=2)
        self.fc = nn.Linear(8 * 12, n_species)

    def forward(self, x):
        x = nn.functional.gelu(self.conv1(x))
        x = nn.functional.gelu(self.conv2(x))
        return self.fc(x.flatten(1))


def make_calls(counts, length=24):
    x, y = [], []
    t = torch.arange(length).float()
    for species, n in enumerate(counts):
        phase = torch.rand(n, 1) * 6.28
        x.append(torch.sin(t * 0.4 * (species + 1) + phase) + 0.2 * torch.randn(n, length))
        y.append(torch.full((n,), species, dtype=torch.long))
    return torch.cat(x).unsqueeze(1), torch.cat(y)


def balanced_sampler(labels):
    """Rare species are drawn more often than common ones."""
    counts = torch.bincount(labels).float()
    class_weight = 1.0 - counts / counts.max()  #C
    weights = class_weight[labels]
    return WeightedRandomSampler(weights.tolist(), num_samples=len(labels), replacement=True)  #C


def train(model, loader, epochs=9, lr=1e-2):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    drawn = torch.zeros(4, dtype=torch.long)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            drawn += torch.bincount(y, minlength=4)
        print(f"epoch {epoch}: loss {total / len(loader):.3f}")
    return drawn


def main():
    torch.manual_seed(0)
    x, y = make_calls([80, 30, 20, 14])
    loader = DataLoader(TensorDataset(x, y), batch_size=24, sampler=balanced_sampler(y))
    model = CallNet()
    drawn = train(model, loader)
    model.eval()
    vx, vy = make_calls([20, 20, 20, 20])
    with torch.no_grad():
        pred = model(vx).argmax(dim=1)
    for k in range(4):
        print(f"species {k}: recall {(pred[vy == k] == k).float().mean().item():.2f}")
    print("classes drawn during training:", drawn.nonzero().flatten().tolist())


if __name__ == "__main__":
    main()
