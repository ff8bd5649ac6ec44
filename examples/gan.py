"""A generative adversarial network learns eight Gaussians on a circle."""

import argparse
import math

import torch
from torch import nn


def sample_ring(count):
    """Points from eight narrow Gaussians whose centers stand on a circle."""
    angle = torch.randint(0, 8, (count,)) * (math.pi / 4)
    return torch.stack((torch.cos(angle), torch.sin(angle)), dim=-1) + 0.05 * torch.randn(count, 2)


class Generator(nn.Sequential):
    def __init__(self, latent=8, hidden=64):
        super().__init__(
            nn.Linear(latent, hidden),
            nn.BatchNorm1d(hidden),
            nn.ReLU(inplace=True),
            nn.Linear(hidden, hidden),
            nn.BatchNorm1d(hidden),
            nn.ReLU(inplace=True),
            nn.Linear(hidden, 2),
        )


class Discriminator(nn.Sequential):
    def __init__(self, hidden=64):
        super().__init__(
            nn.Linear(2, hidden),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(hidden, hidden),
            nn.LeakyReLU(0.2, inplace=True),
            nn.Linear(hidden, 1),
        )


def init_weights(module):
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        nn.init.zeros_(module.bias)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch-size", type=int, default=64)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    generator = Generator().apply(init_weights)
    discriminator = Discriminator().apply(init_weights)
    criterion = nn.BCEWithLogitsLoss()
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    real_label = torch.ones(args.batch_size, 1)
    fake_label = torch.zeros(args.batch_size, 1)

    for step in range(args.steps):
        # Discriminator: real points are real, generated ones are not.
        fake = generator(torch.randn(args.batch_size, 8))
        optimizer_d.zero_grad()
        loss_real = criterion(discriminator(sample_ring(args.batch_size)), real_label)
        loss_fake = criterion(discriminator(fake.detach()), fake_label)
        loss_d = loss_real + loss_fake
        loss_d.backward()
        optimizer_d.step()

        # Generator: its points should be taken for real.
        optimizer_g.zero_grad()
        loss_g = criterion(discriminator(fake), real_label)
        loss_g.backward()
        optimizer_g.step()

        print(f"step {step} loss {loss_d.item():.6f} generator {loss_g.item():.6f}")


if __name__ == "__main__":
    main()
