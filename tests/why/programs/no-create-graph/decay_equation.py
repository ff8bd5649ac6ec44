# no-create-graph
# evidence: done
# Physics-informed network for u'(t) = -k u(t) + sin(t), u(0) = 1.
import argparse

import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, width=32, depth=3):
        super().__init__()
        layers, d = [], 1
        for _ in range(depth):
            layers += [nn.Linear(d, width), nn.Tanh()]
            d = width
        layers.append(nn.Linear(d, 1))
        self.net = nn.Sequential(*layers)

    def forward(self, t):
        return self.net(t)


def exact(t, k):
    c = 1.0 / (1 + k * k)
    return c * (k * torch.sin(t) - torch.cos(t)) + (1 + c) * torch.exp(-k * t)


def physics_residual(model, t, k):
    t = t.requires_grad_(True)
    u = model(t)
    u_t = torch.autograd.grad(u, t, grad_outputs=torch.ones_like(u), retain_graph=True)[0]  #C
    return u_t + k * u - torch.sin(t)


def train(args):
    torch.manual_seed(args.seed)
    model = Net()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.StepLR(opt, step_size=args.iters // 3, gamma=0.5)
    t0 = torch.zeros(1, 1)
    grid = torch.linspace(0, args.t_max, 100).unsqueeze(1)
    for it in range(args.iters + 1):
        t = args.t_max * torch.rand(128, 1)
        res = physics_residual(model, t, args.k)
        ic = model(t0) - 1.0
        loss = res.pow(2).mean() + 10.0 * ic.pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if it % (args.iters // 5) == 0:
            with torch.no_grad():
                err = (model(grid) - exact(grid, args.k)).pow(2).mean().sqrt().item()
            print(f"it {it} loss {loss.item():.5f} rmse vs exact {err:.4f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--k", type=float, default=1.5)
    parser.add_argument("--t-max", type=float, default=4.0)
    parser.add_argument("--iters", type=int, default=60)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    train(parser.parse_args())
print("evidence: done")
