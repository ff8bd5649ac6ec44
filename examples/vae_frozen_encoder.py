"""Train a variational autoencoder, then freeze the encoder and go on with the decoder alone."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn, optim


def make_batch(count, width=32):
    """Bumps of random place and breadth, between 0 and 1."""
    place = torch.rand(count, 1) * width
    breadth = 1.5 + 3.0 * torch.rand(count, 1)
    return torch.exp(-((torch.arange(width) - place) ** 2) / (2 * breadth**2))


class Encoder(nn.Module):
    def __init__(self, width, hidden, latent):
        super().__init__()
        self.hidden = nn.Linear(width, hidden)
        self.mean = nn.Linear(hidden, latent)
        self.log_variance = nn.Linear(hidden, latent)

    def forward(self, x):
        h = F.silu(self.hidden(x))
        return self.mean(h), self.log_variance(h)


class VAE(nn.Module):
    def __init__(self, width=32, hidden=48, latent=4):
        super().__init__()
        self.encoder = Encoder(width, hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.SiLU(), nn.Linear(hidden, width))

    def reparameterize(self, mean, log_variance):
        std = torch.exp(0.5 * log_variance)
        return mean + std * torch.randn_like(std)

    def forward(self, x):
        mean, log_variance = self.encoder(x)
        return self.decoder(self.reparameterize(mean, log_variance)), mean, log_variance


def elbo_loss(logits, x, mean, log_variance):
    reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return (reconstruction + divergence) / x.size(0)


def freeze(module):
    for parameter in module.parameters():
        parameter.requires_grad = False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    model = VAE()
    optimizer = optim.Adam(model.parameters(), lr=3e-3)

    for step in range(args.steps):
        if step == args.steps // 2:
            freeze(model.encoder)
            optimizer = optim.Adam((p for p in model.parameters() if p.requires_grad), lr=3e-3)
        x = make_batch(64)
        logits, mean, log_variance = model(x)
        loss = elbo_loss(logits, x, mean, log_variance)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.6f}")

    for name, parameter in model.named_parameters():
        print(f"{name:28} {'frozen' if not parameter.requires_grad else f'gradient norm {parameter.grad.norm():.4f}'}")


if __name__ == "__main__":
    main()
