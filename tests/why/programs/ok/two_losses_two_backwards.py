# ok
# evidence: same as summed loss: True, both losses went down: True
import copy

import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(8, 24), nn.Tanh())
        self.reg, self.cls = nn.Linear(24, 1), nn.Linear(24, 3)

    def regress(self, x):
        return self.reg(self.shared(x)).squeeze(1)

    def classify(self, x):
        return self.cls(self.shared(x))


def data():
    xa, xb = torch.randn(32, 8), torch.randn(32, 8)
    return (xa, xa[:, 0] - xa[:, 1]), (xb, xb[:, 2:5].argmax(1))


def step_separately(model, opt, a, b):
    """Gradients of the two losses add up; two small graphs instead of a large one."""
    opt.zero_grad()
    loss_a = F.mse_loss(model.regress(a[0]), a[1])
    loss_a.backward()
    loss_b = F.cross_entropy(model.classify(b[0]), b[1])
    loss_b.backward()
    opt.step()
    return loss_a.item(), loss_b.item()


def step_summed(model, opt, a, b):
    opt.zero_grad()
    (F.mse_loss(model.regress(a[0]), a[1]) + F.cross_entropy(model.classify(b[0]), b[1])).backward()
    opt.step()


def main():
    torch.manual_seed(41)
    model = Net()
    twin = copy.deepcopy(model)
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    opt_twin = torch.optim.SGD(twin.parameters(), lr=0.1)
    la, lb = [], []
    for it in range(60):
        a, b = data()
        x, y = step_separately(model, opt, a, b)
        step_summed(twin, opt_twin, a, b)
        la.append(x)
        lb.append(y)
        if it % 15 == 14:
            print(f"iter {it + 1} regression {x:.3f} classification {y:.3f}")
    same = all(torch.allclose(p, q, atol=1e-4) for p, q in zip(model.parameters(), twin.parameters()))
    down = sum(la[-8:]) < sum(la[:8]) and sum(lb[-8:]) < sum(lb[:8])
    print(f"same as summed loss: {same}, both losses went down: {down}")


if __name__ == "__main__":
    main()
