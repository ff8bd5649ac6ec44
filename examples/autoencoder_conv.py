"""A convolutional autoencoder removes noise from images of circles."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def make_circles(count, size=16):
    """Images of circles of random place and radius."""
    center = 5.0 + 6.0 * torch.rand(count, 2, 1, 1)
    radius = 2.0 + 2.5 * torch.rand(count, 1, 1)
    grid = torch.arange(size, dtype=torch.float32)
    distance = torch.hypot(grid.view(1, size, 1) - center[:, 0], grid.view(1, 1, size) - center[:, 1])
    return torch.sigmoid(4.0 * (1.0 - (distance - radius).abs())).unsqueeze(1)


class Autoencoder(nn.Module):
    def __init__(self, channels=8, code=16):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, channels, 3, stride=2, padding=1),
            nn.ELU(),
            nn.Conv2d(channels, 2 * channels, 3, stride=2, padding=1),
            nn.GroupNorm(4, 2 * channels),
            nn.ELU(),
            nn.Flatten(),
            nn.Linear(2 * channels * 4 * 4, code),
        )
        self.decoder = nn.Sequential(
            nn.Linear(code, 2 * channels * 4 * 4),
            nn.Unflatten(1, (2 * channels, 4, 4)),
            nn.ConvTranspose2d(2 * channels, channels, 3, stride=2, padding=1, output_padding=1),
            nn.ELU(),
            nn.ConvTranspose2d(channels, channels, 4, stride=2, padding=1),
            nn.ELU(),
            nn.Conv2d(channels, 1, 3, padding=1),
            nn.Sigmoid(),
        )

    def forward(self, x):
        return self.decoder(self.encoder(x))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    loader = DataLoader(TensorDataset(make_circles(256)), batch_size=32, shuffle=True)
    model = Autoencoder()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)

    step = 0
    while step < args.steps:
        epoch_loss = 0.0
        for (clean,) in loader:
            noisy = torch.clamp(clean + 0.2 * torch.randn_like(clean), 0.0, 1.0)
            loss = F.binary_cross_entropy(model(noisy), clean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
            print(f"step {step} loss {loss.item():.6f}")
            step += 1
            if step == args.steps:
                break
        plateau.step(epoch_loss / len(loader))


if __name__ == "__main__":
    main()
