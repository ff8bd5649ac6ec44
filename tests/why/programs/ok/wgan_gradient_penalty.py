# ok
# evidence: penalty moves critic: True, generator mean closer to data: True
import argparse

import torch
from torch import nn


class Critic(nn.Module):
    def __init__(self, d, h=32):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(d, h), nn.Softplus(), nn.Linear(h, h), nn.Softplus(),
                               nn.Linear(h, 1, bias=False))

    def forward(self, x):
        return self.f(x)


def gradient_penalty(critic, real, fake):
    eps = torch.rand(real.shape[0], 1)
    mid = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = critic(mid)
    (g,) = torch.autograd.grad(score.sum(), mid, create_graph=True)
    return ((g.norm(2, dim=1) - 1.0) ** 2).mean()


def data(n, d):
    return 2.0 + 0.5 * torch.randn(n, d)


def main(args):
    torch.manual_seed(args.seed)
    gen = nn.Sequential(nn.Linear(args.z, 32), nn.SiLU(), nn.Linear(32, args.d))
    critic = Critic(args.d)
    opt_c = torch.optim.Adam(critic.parameters(), lr=4e-3, betas=(0.0, 0.9))
    opt_g = torch.optim.Adam(gen.parameters(), lr=4e-3, betas=(0.0, 0.9))

    fixed_z = torch.randn(256, args.z)
    with torch.no_grad():
        gap0 = (gen(fixed_z).mean(0) - 2.0).norm().item()

    # how much the penalty alone pulls on the critic
    pen = gradient_penalty(critic, data(16, args.d), gen(torch.randn(16, args.z)).detach())
    pull = torch.autograd.grad(pen, critic.f[0].weight)[0].abs().sum().item()

    for it in range(args.iters):
        for _ in range(3):
            real = data(32, args.d)
            fake = gen(torch.randn(32, args.z)).detach()
            gp = gradient_penalty(critic, real, fake)
            loss_c = critic(fake).mean() - critic(real).mean() + args.lam * gp
            opt_c.zero_grad()
            loss_c.backward()
            opt_c.step()
        loss_g = -critic(gen(torch.randn(32, args.z))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        if it % 10 == 0:
            print(f"{it:3d} critic {loss_c.item():+.3f} gp {gp.item():.3f} gen {loss_g.item():+.3f}")

    with torch.no_grad():
        gap1 = (gen(fixed_z).mean(0) - 2.0).norm().item()
    print(f"penalty moves critic: {pull > 0}, generator mean closer to data: {gap1 < gap0}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--iters", type=int, default=40)
    parser.add_argument("--lam", type=float, default=10.0)
    parser.add_argument("--z", type=int, default=4)
    parser.add_argument("--d", type=int, default=3)
    main(parser.parse_args())
