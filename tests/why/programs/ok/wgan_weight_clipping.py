# ok
# evidence: critic weights within the box: True, generator mean closer to data: True
import torch
from torch import nn

CLIP = 0.1
N_CRITIC = 4


def mlp(*sizes, last_bias=True):
    layers = []
    for i in range(len(sizes) - 1):
        last = i == len(sizes) - 2
        layers.append(nn.Linear(sizes[i], sizes[i + 1], bias=last_bias or not last))
        if not last:
            layers.append(nn.LeakyReLU(0.1))
    return nn.Sequential(*layers)


def sample_real(n):
    return torch.tensor([1.5, -1.0]) + 0.3 * torch.randn(n, 2)


def main():
    torch.manual_seed(6)
    gen, critic = mlp(3, 24, 2), mlp(2, 24, 24, 1, last_bias=False)
    opt_g = torch.optim.RMSprop(gen.parameters(), lr=5e-3)
    opt_c = torch.optim.RMSprop(critic.parameters(), lr=5e-3)
    centre = torch.tensor([1.5, -1.0])

    def distance():
        with torch.no_grad():
            return (gen(torch.randn(256, 3)).mean(0) - centre).norm().item()

    start = distance()
    for it in range(30):
        for _ in range(N_CRITIC):
            with torch.no_grad():
                fake = gen(torch.randn(48, 3))
            loss_c = critic(fake).mean() - critic(sample_real(48)).mean()
            opt_c.zero_grad()
            loss_c.backward()
            opt_c.step()
            # Lipschitz constraint of the original paper
            with torch.no_grad():
                for p in critic.parameters():
                    p.clamp_(-CLIP, CLIP)
        loss_g = -critic(gen(torch.randn(48, 3))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        if it % 10 == 9:
            print(f"iter {it + 1} wasserstein {-loss_c.item():.4f}")
    inside = all(p.abs().max().item() <= CLIP + 1e-6 for p in critic.parameters())
    print(f"critic weights within the box: {inside}, generator mean closer to data: {distance() < start}")


if __name__ == "__main__":
    main()
