# ok
# evidence: single batch learned by heart: True
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                      nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2))
        self.classifier = nn.Linear(96, 5)

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


def main():
    torch.manual_seed(0)
    images, labels = torch.randn(64, 3, 8, 8), torch.randint(0, 5, (64,))
    loader = DataLoader(TensorDataset(images, labels), batch_size=8, shuffle=True)

    # sanity check before the long run: overfit a single batch
    x, y = next(iter(loader))
    model = ConvNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    criterion = nn.CrossEntropyLoss()
    model.train()
    for step in range(60):
        optimizer.zero_grad()
        logits = model(x)
        loss = criterion(logits, y)
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            acc = (logits.argmax(1) == y).float().mean().item()
            print(f"step {step:3d} loss {loss.item():.4f} acc {acc:.2f}")
    with torch.no_grad():
        learned = bool((model(x).argmax(1) == y).all())
    print(f"single batch learned by heart: {learned}")


if __name__ == "__main__":
    main()
