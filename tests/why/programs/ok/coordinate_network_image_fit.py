# ok
# evidence: psnr improved: True
import argparse
import math

import torch
from torch import nn


class FourierFeatures(nn.Module):
    def __init__(self, n=16, scale=2.0):
        super().__init__()
        self.register_buffer("B", scale * torch.randn(2, n))     # fixed projection, not trained

    def forward(self, xy):
        p = 2 * math.pi * xy @ self.B
        return torch.cat([p.sin(), p.cos()], dim=-1)


def grid(size):
    g = torch.linspace(0, 1, size)
    yy, xx = torch.meshgrid(g, g, indexing="ij")
    return torch.stack([xx, yy], dim=-1).view(-1, 2)


def psnr(pred, target):
    return -10 * math.log10(torch.mean((pred - target) ** 2).item() + 1e-12)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=12)
    parser.add_argument("--iters", type=int, default=60)
    args = parser.parse_args()
    torch.manual_seed(65)
    xy = grid(args.size)
    image = (torch.sin(6 * xy[:, :1]) * torch.cos(4 * xy[:, 1:]) > 0.2).float()
    model = nn.Sequential(FourierFeatures(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid())
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    with torch.no_grad():
        start = psnr(model(xy), image)
    for it in range(args.iters):          # one picture, all its pixels in every step
        loss = nn.functional.mse_loss(model(xy), image)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 15 == 14:
            print(f"iter {it + 1} mse {loss.item():.4f}")
    with torch.no_grad():
        end = psnr(model(xy), image)
    print(f"psnr improved: {end > start + 1}")


if __name__ == "__main__":
    main()
