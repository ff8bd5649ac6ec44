# exploding-gradient | gradient
# evidence: largest gradient norm over 1e6: True
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class SineLayer(nn.Module):
    def __init__(self, n_in, n_out, omega=30.0):
        super().__init__()
        self.omega = omega
        self.linear = nn.Linear(n_in, n_out)  #C

    def forward(self, x):
        return torch.sin(self.omega * self.linear(x))  #C


class ImplicitImage(nn.Module):
    """Maps pixel coordinates to grey values."""

    def __init__(self, hidden=48, depth=8):
        super().__init__()
        layers = [SineLayer(2, hidden)]
        layers += [SineLayer(hidden, hidden) for _ in range(depth - 1)]
        self.layers = nn.Sequential(*layers)
        self.out = nn.Linear(hidden, 1)

    def forward(self, xy):
        return self.out(self.layers(xy))


def picture(side=16):
    axis = torch.linspace(-1, 1, side)
    yy, xx = torch.meshgrid(axis, axis, indexing="ij")
    grey = torch.sin(math.pi * xx) * torch.cos(math.pi * yy)
    return torch.stack([xx, yy], dim=-1).view(-1, 2), grey.view(-1, 1)


def main():
    coords, target = picture()
    model = ImplicitImage()
    opt = torch.optim.Adam(model.parameters(), lr=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=40)
    norms = []
    for step in range(40):
        pick = torch.randperm(coords.size(0))[:128]
        loss = F.mse_loss(model(coords[pick]), target[pick])
        opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), float("inf"))
        opt.step()
        sched.step()
        norms.append(float(norm))
        if step % 10 == 0:
            print(f"step {step} mse {loss.item():.4f}")
    print("largest gradient norm over 1e6:", max(norms) > 1e6)


if __name__ == "__main__":
    main()
