# input-degenerate, zero-factor | input/image, zero/0/constant
# evidence: distinct pixel values fed to the network: [0.0]
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class SignDataset(Dataset):
    """8x8 RGB crops; a coloured frame tells the kind of sign."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.images = rng.integers(0, 120, size=(n, 3, 8, 8), dtype=np.uint8)
        self.labels = rng.integers(0, 3, size=n)
        for i, k in enumerate(self.labels):
            self.images[i, k, 0, :] = 250
            self.images[i, k, -1, :] = 250

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        image = torch.from_numpy(self.images[i] // 255).float()  #C
        return image, int(self.labels[i])


class SignNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 8, 3, padding=1)
        self.fc = nn.Linear(8 * 4 * 4, 3)

    def forward(self, x):
        x = torch.tanh(self.conv1(x))
        x = nn.functional.max_pool2d(torch.tanh(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


def main():
    torch.manual_seed(0)
    loader = DataLoader(SignDataset(96, seed=0), batch_size=16, shuffle=True)
    test = DataLoader(SignDataset(48, seed=1), batch_size=48)
    model = SignNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    values = set()
    for epoch in range(6):
        model.train()
        total = 0.0
        for images, labels in loader:
            values.update(images.unique().tolist()[:4])
            logits = model(images)
            loss = criterion(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            acc = sum((model(x).argmax(1) == y).float().mean().item() for x, y in test) / len(test)
        print(f"epoch {epoch} loss {total / len(loader):.3f} test acc {acc:.2f}")
    print("distinct pixel values fed to the network:", sorted(values)[:4])


if __name__ == "__main__":
    main()
