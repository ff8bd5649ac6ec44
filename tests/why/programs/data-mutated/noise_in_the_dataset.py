# data-mutated
# evidence: done
# Keyword spotting on synthetic spectrograms with random gain / noise / shift augmentation.
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class SpecDataset(Dataset):
    def __init__(self, specs, labels, train, noise=0.5, mask=3):
        self.specs, self.labels = specs, labels
        self.train, self.noise, self.mask = train, noise, mask

    def __len__(self):
        return len(self.labels)

    def augment(self, spec):
        spec += self.noise * torch.randn_like(spec)  #C
        start = torch.randint(0, spec.size(-1) - self.mask, (1,)).item()
        spec[:, start:start + self.mask] = 0.0  #C
        return spec

    def __getitem__(self, i):
        spec = self.specs[i]  #C
        if self.train:
            spec = self.augment(spec)  #C
        return spec, self.labels[i]


class KWSNet(nn.Module):
    def __init__(self, mels, classes):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(mels, 32, 5, padding=2), nn.ReLU(), nn.Conv1d(32, 32, 5, padding=2), nn.ReLU())
        self.fc = nn.Linear(32, classes)

    def forward(self, x):
        return self.fc(self.conv(x).amax(dim=-1))


def make_split(n, templates):
    y = torch.randint(0, len(templates), (n,))
    x = templates[y] + 0.3 * torch.randn(n, *templates.shape[1:])
    return x, y


def main(epochs=3):
    torch.manual_seed(0)
    templates = torch.randn(6, 10, 20) * 0.6
    train_set = SpecDataset(*make_split(360, templates), train=True)
    test_set = SpecDataset(*make_split(300, templates), train=False)
    train = DataLoader(train_set, batch_size=30, shuffle=True)
    test = DataLoader(test_set, batch_size=100)
    model = KWSNet(10, 6)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for x, y in train:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            acc = sum((model(x).argmax(1) == y).sum().item() for x, y in test) / len(test_set)
        print(f"epoch {epoch} loss {total / len(train):.4f} test acc {acc:.3f}")


if __name__ == "__main__":
    main()
print("evidence: done")
