# second-derivative-zero, term-without-influence | second/twice/curvature/hessian, relu/piecewise
# evidence: curvature term ever above zero: False
import torch
import torch.nn as nn
import torch.nn.functional as F


class Surface(nn.Module):
    """Height field z = f(x, y) fitted to noisy samples, regularised to be smooth."""

    def __init__(self, width=24):
        super().__init__()
        self.l1 = nn.Linear(2, width)
        self.l2 = nn.Linear(width, width)
        self.l3 = nn.Linear(width, 1)

    def forward(self, p):
        h = F.leaky_relu(self.l1(p), 0.1)  #C
        h = F.leaky_relu(self.l2(h), 0.1)  #C
        return self.l3(h).squeeze(-1)


def curvature_penalty(model, points, probes=2):
    """Hutchinson estimate of |H v|^2."""
    points = points.clone().requires_grad_(True)
    z = model(points)
    (slope,) = torch.autograd.grad(z.sum(), points, create_graph=True)
    total = 0.0
    for _ in range(probes):
        v = torch.randn_like(points)
        (hv,) = torch.autograd.grad((slope * v).sum(), points, create_graph=True)  #C
        total = total + hv.pow(2).sum(-1).mean()
    return total / probes


def samples(n=48):
    p = torch.rand(n, 2) * 2 - 1
    z = torch.sin(2 * p[:, 0]) * p[:, 1] + 0.3 * torch.randn(n)
    return p, z


def main():
    torch.manual_seed(61)
    model = Surface()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    weight, seen = 0.1, []
    for step in range(40):
        p, z = samples()
        fit = F.mse_loss(model(p), z)
        bend = curvature_penalty(model, p)
        loss = fit + weight * bend
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen.append(bend.item())
        if step % 10 == 0:
            print(f"step {step} fit {fit.item():.4f} curvature {seen[-1]:.6f}")
    print("curvature term ever above zero:", max(seen) > 0)


if __name__ == "__main__":
    main()
