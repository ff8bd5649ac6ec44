"""Wasserstein GAN with gradient penalty: the loss contains a gradient, so its own gradient is a second derivative."""

import argparse
from itertools import pairwise

import torch
from torch import autograd, nn


def sample_moons(count):
    """Two interleaved half circles."""
    angle = torch.rand(count) * torch.pi
    side = torch.randint(0, 2, (count,))
    x = torch.where(side == 0, angle.cos(), 1.0 - angle.cos())
    y = torch.where(side == 0, angle.sin(), 0.5 - angle.sin())
    return torch.stack([x, y], dim=1) + 0.05 * torch.randn(count, 2)


def mlp(*sizes, activation):
    layers = []
    for n_in, n_out in pairwise(sizes):
        layers += [nn.Linear(n_in, n_out), activation()]
    return nn.Sequential(*layers[:-1])


def gradient_penalty(critic, real, fake):
    """How far the norm of the critic's gradient is from one, between real and generated points."""
    mix = torch.rand(real.size(0), 1)
    between = (mix * real + (1 - mix) * fake).requires_grad_(True)
    score = critic(between)
    gradient = autograd.grad(outputs=score, inputs=between, grad_outputs=torch.ones_like(score),
                             create_graph=True, retain_graph=True, only_inputs=True)[0]
    return ((gradient.norm(2, dim=1) - 1) ** 2).mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--critic-steps", type=int, default=3)
    parser.add_argument("--penalty", type=float, default=10.0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    batch, latent = 64, 4
    generator = mlp(latent, 64, 64, 2, activation=nn.ReLU)
    critic = mlp(2, 64, 64, 1, activation=nn.Softplus)
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=5e-4, betas=(0.0, 0.9))
    optimizer_c = torch.optim.Adam(critic.parameters(), lr=5e-4, betas=(0.0, 0.9))

    for step in range(args.steps):
        for _ in range(args.critic_steps):
            real = sample_moons(batch)
            with torch.no_grad():
                fake = generator(torch.randn(batch, latent))
            loss_c = critic(fake).mean() - critic(real).mean() + args.penalty * gradient_penalty(critic, real, fake)
            optimizer_c.zero_grad()
            loss_c.backward()
            optimizer_c.step()

        for parameter in critic.parameters():
            parameter.requires_grad_(False)
        loss_g = -critic(generator(torch.randn(batch, latent))).mean()
        optimizer_g.zero_grad()
        loss_g.backward()
        optimizer_g.step()
        for parameter in critic.parameters():
            parameter.requires_grad_(True)

        print(f"step {step} loss {loss_c.item():.6f} generator {loss_g.item():.6f}")


if __name__ == "__main__":
    main()
