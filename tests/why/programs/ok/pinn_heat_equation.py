# ok
# evidence: first layer moved: True, diffusivity moved: True, loss went down: True
import math

import torch
import torch.nn as nn


class HeatPINN(nn.Module):
    """u_t = k u_xx; the diffusivity k is estimated from measurements."""

    def __init__(self, hidden=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
                                 nn.Linear(hidden, 1))
        self.k = nn.Parameter(torch.tensor(0.1))

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))

    def physics(self, x, t):
        u = self(x, t)
        g = lambda y, v: torch.autograd.grad(y.sum(), v, create_graph=True)[0]
        return g(u, t) - self.k * g(g(u, x), x)


def measurements(n):
    x, t = torch.rand(n, 1), torch.rand(n, 1)
    return x, t, torch.sin(math.pi * x) * torch.exp(-0.5 * math.pi ** 2 * t)


def main():
    torch.manual_seed(83)
    model = HeatPINN()
    w0 = model.net[0].weight.detach().clone()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    for step in range(150):
        x, t, u = measurements(64)
        data = (model(x, t) - u).pow(2).mean()
        xc, tc = torch.rand(64, 1, requires_grad=True), torch.rand(64, 1, requires_grad=True)
        pde = model.physics(xc, tc).pow(2).mean()
        loss = data + 0.05 * pde
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        if step % 30 == 29:
            print(f"step {step + 1} data {data.item():.4f} pde {pde.item():.4f} k {model.k.item():.3f}")
    moved = not torch.equal(w0, model.net[0].weight.detach())
    print(f"first layer moved: {moved}, diffusivity moved: {abs(model.k.item() - 0.1) > 1e-3}, "
          f"loss went down: {sum(losses[-10:]) < sum(losses[:10])}")


if __name__ == "__main__":
    main()
