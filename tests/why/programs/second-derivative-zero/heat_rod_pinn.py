# second-derivative-zero | second/twice/curvature, relu/piecewise
# evidence: largest second derivative is zero: True
import torch
import torch.nn as nn


class RodNet(nn.Module):
    """Temperature u(x) on a rod, physics-informed."""

    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(1, width), nn.ReLU(),  #C
            nn.Linear(width, width), nn.ReLU(),  #C
            nn.Linear(width, 1),
        )

    def forward(self, x):
        return self.net(x)


def derivatives(model, x):
    u = model(x)
    (u_x,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    (u_xx,) = torch.autograd.grad(u_x.sum(), x, create_graph=True)  #C
    return u, u_x, u_xx


def heat_source(x):
    return 4.0 * torch.sin(3.0 * x)


def physics_loss(model, n=32):
    x = torch.rand(n, 1, requires_grad=True)
    _, _, u_xx = derivatives(model, x)
    return (u_xx + heat_source(x.detach())).pow(2).mean(), u_xx


def boundary_loss(model):
    ends = torch.tensor([[0.0], [1.0]])
    values = torch.tensor([[0.0], [1.0]])
    return (model(ends) - values).pow(2).mean()


def main():
    torch.manual_seed(1)
    model = RodNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    largest = 0.0
    for it in range(40):
        optimizer.zero_grad()
        pde, u_xx = physics_loss(model)
        bc = boundary_loss(model)
        loss = pde + 10.0 * bc
        loss.backward()
        optimizer.step()
        largest = max(largest, u_xx.abs().max().item())
        if it % 10 == 0:
            print(f"iter {it:3d} pde {pde.item():.4f} bc {bc.item():.4f}")
    print("largest second derivative is zero:", largest == 0.0)


if __name__ == "__main__":
    main()
