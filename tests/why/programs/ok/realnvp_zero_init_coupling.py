# ok
# evidence: identity flow at start: True, inverse exact: True, nll went down: True
import math

import torch
from torch import nn


class Coupling(nn.Module):
    def __init__(self, dim, flip, hidden=24):
        super().__init__()
        self.flip = flip
        half = dim // 2
        self.net = nn.Sequential(nn.Linear(half, hidden), nn.Tanh(), nn.Linear(hidden, 2 * (dim - half)))
        nn.init.zeros_(self.net[-1].weight)       # every layer begins as the identity
        nn.init.zeros_(self.net[-1].bias)

    def split(self, x):
        a, b = x.chunk(2, dim=1)
        return (b, a) if self.flip else (a, b)

    def join(self, a, b):
        return torch.cat([b, a] if self.flip else [a, b], dim=1)

    def forward(self, x):
        a, b = self.split(x)
        s, t = self.net(a).chunk(2, dim=1)
        s = torch.tanh(s)
        return self.join(a, b * s.exp() + t), s.sum(1)

    def inverse(self, y):
        a, b = self.split(y)
        s, t = self.net(a).chunk(2, dim=1)
        return self.join(a, (b - t) * (-torch.tanh(s)).exp())


class Flow(nn.Module):
    def __init__(self, dim=2, layers=4):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(dim, flip=i % 2 == 1) for i in range(layers))

    def forward(self, x):
        logdet = torch.zeros(len(x))
        for layer in self.layers:
            x, ld = layer(x)
            logdet = logdet + ld
        return x, logdet

    def inverse(self, z):
        for layer in reversed(self.layers):
            z = layer.inverse(z)
        return z

    def nll(self, x):
        z, logdet = self(x)
        return (0.5 * z.pow(2).sum(1) + math.log(2 * math.pi) - logdet).mean()


def crescent(n):
    a = torch.randn(n)
    return torch.stack([a, 0.6 * a ** 2 - 0.5 + 0.3 * torch.randn(n)], 1)


def main():
    torch.manual_seed(46)
    flow = Flow()
    x = crescent(64)
    identity = torch.allclose(flow(x)[0], x)
    opt = torch.optim.Adam(flow.parameters(), lr=1e-2)
    losses = []
    for step in range(60):
        loss = flow.nll(crescent(128))
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
        opt.step()
        losses.append(loss.item())
        if step % 15 == 14:
            print(f"step {step + 1} nll {losses[-1]:.3f}")
    with torch.no_grad():
        exact = torch.allclose(flow.inverse(flow(x)[0]), x, atol=1e-3)
    print(f"identity flow at start: {identity}, inverse exact: {exact}, nll went down: {sum(losses[-8:]) < sum(losses[:8])}")


if __name__ == "__main__":
    main()
