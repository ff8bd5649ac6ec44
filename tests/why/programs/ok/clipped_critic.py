# ok
# evidence: done
"""WGAN-GP on a one-dimensional mixture, with critic warm-up and an averaged generator."""
import copy

import torch
import torch.nn as nn


def real_batch(n):
    side = torch.randint(0, 2, (n, 1)).float() * 2 - 1
    return side * 2.0 + 0.25 * torch.randn(n, 1)


def net(i, o, h=32):
    return nn.Sequential(nn.Linear(i, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, o))


def gradient_penalty(critic, real, fake):
    eps = torch.rand(len(real), 1)
    mid = (eps * real + (1 - eps) * fake).requires_grad_(True)
    (g,) = torch.autograd.grad(critic(mid).sum(), mid, create_graph=True)
    return (g.norm(2, dim=1) - 1).pow(2).mean()


@torch.no_grad()
def average(avg, model, decay=0.9):
    for a, p in zip(avg.parameters(), model.parameters()):
        a.lerp_(p, 1 - decay)


def set_trainable(module, flag):
    for p in module.parameters():
        p.requires_grad_(flag)


def wasserstein_1d(a, b):
    return (a.flatten().sort().values - b.flatten().sort().values).abs().mean().item()


def main():
    torch.manual_seed(0)
    gen, critic = net(4, 1), net(1, 1, 24)
    avg_gen = copy.deepcopy(gen)
    set_trainable(avg_gen, False)
    opt_g = torch.optim.Adam(gen.parameters(), lr=5e-3, betas=(0.5, 0.9))
    opt_c = torch.optim.Adam(critic.parameters(), lr=1e-2, betas=(0.5, 0.9))
    with torch.no_grad():
        print(f"start distance {wasserstein_1d(gen(torch.randn(1000, 4)), real_batch(1000)):.3f}")
    for it in range(110):
        set_trainable(critic, True)
        for _ in range(8 if it < 5 else 3):
            real = real_batch(64)
            with torch.no_grad():
                fake = gen(torch.randn(64, 4))
            loss_c = critic(fake).mean() - critic(real).mean()
            loss_c = loss_c + 0.5 * gradient_penalty(critic, real, fake)
            opt_c.zero_grad()
            loss_c.backward()
            opt_c.step()
        set_trainable(critic, False)
        loss_g = -critic(gen(torch.randn(64, 4))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        average(avg_gen, gen)
        if it % 22 == 21:
            print(f"it {it:3d} critic {loss_c.item():.3f} gen {loss_g.item():.3f}")
    with torch.no_grad():
        d = wasserstein_1d(avg_gen(torch.randn(1000, 4)), real_batch(1000))
    print(f"final distance {d:.3f}")


if __name__ == "__main__":
    main()
print("evidence: done")
