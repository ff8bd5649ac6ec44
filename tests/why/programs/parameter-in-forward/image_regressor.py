# parameter-in-forward, not-in-optimizer | forward, linear/layer
# evidence: number of trained tensors: 6
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class AngleNet(nn.Module):
    """Regresses the angle of a bar from an image."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, padding=1)
        self.conv2 = nn.Conv2d(6, 8, 3, stride=2)
        self.out = nn.Linear(32, 2)

    def forward(self, x):
        h = F.relu(self.conv1(x))
        h = F.relu(self.conv2(h)).flatten(1)
        h = F.relu(nn.Linear(h.size(1), 32)(h))  #C
        return self.out(h)


def bars(n=96, size=7):
    angle = 3.1416 * torch.rand(n)
    g = torch.arange(size, dtype=torch.float32) - size // 2
    yy, xx = torch.meshgrid(g, g, indexing="ij")
    distance = xx * angle.sin().view(-1, 1, 1) - yy * angle.cos().view(-1, 1, 1)
    img = torch.exp(-distance.pow(2))
    return TensorDataset(img.unsqueeze(1), torch.stack([(2 * angle).cos(), (2 * angle).sin()], 1))


def fit(model, loader, epochs=5):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(epochs):
        total = 0.0
        for img, target in loader:
            loss = F.mse_loss(model(img), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} mse {total / len(loader):.4f}")
    return optimizer


def main():
    torch.manual_seed(27)
    loader = DataLoader(bars(), batch_size=16, shuffle=True)
    optimizer = fit(AngleNet(), loader)
    print("number of trained tensors:", sum(len(g["params"]) for g in optimizer.param_groups))


if __name__ == "__main__":
    main()
