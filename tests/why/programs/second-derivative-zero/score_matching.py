# second-derivative-zero | second/twice/curvature/hessian/laplacian, relu/piecewise
# evidence: trace of the hessian ever nonzero: False
import torch
import torch.nn as nn


class Energy(nn.Module):
    def __init__(self, dim=2, width=32, depth=2):
        super().__init__()
        sizes = [dim] + [width] * depth
        layers = []
        for a, b in zip(sizes[:-1], sizes[1:]):
            layers += [nn.Linear(a, b), nn.ReLU()]  #C
        layers.append(nn.Linear(width, 1))
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x).squeeze(-1)

    def score(self, x):
        energy = self(x).sum()
        return -torch.autograd.grad(energy, x, create_graph=True)[0]


def score_matching(model, x):
    """Hyvarinen's objective: tr(ds/dx) + |s|^2 / 2."""
    x = x.detach().requires_grad_(True)
    s = model.score(x)
    trace = torch.zeros(len(x))
    for k in range(x.size(1)):
        row = torch.autograd.grad(s[:, k].sum(), x, create_graph=True)[0]  #C
        trace = trace + row[:, k]
    return trace.mean(), 0.5 * s.pow(2).sum(1).mean(), trace.abs().max().item()


def mixture(n):
    side = torch.randint(0, 2, (n, 1)).float() * 2 - 1
    return torch.cat([1.5 * side, torch.zeros(n, 1)], dim=1) + 0.4 * torch.randn(n, 2)


def main():
    torch.manual_seed(75)
    model = Energy()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    peak = 0.0
    for step in range(40):
        trace, square, largest = score_matching(model, mixture(64))
        loss = trace + square
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        peak = max(peak, largest)
        if step % 10 == 0:
            print(f"step {step} trace {trace.item():.4f} square {square.item():.4f}")
    print("trace of the hessian ever nonzero:", peak > 0)


if __name__ == "__main__":
    main()
