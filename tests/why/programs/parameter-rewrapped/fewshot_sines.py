# parameter-rewrapped | parameter
# evidence: meta-learned head changed: False
# parameters: head_w, head_b
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(27)


class MetaRegressor(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.head_w = nn.Parameter(torch.randn(1, hidden) / hidden ** 0.5)
        self.head_b = nn.Parameter(torch.zeros(1))

    def adapt(self, x, y, inner_lr=0.1, steps=2):
        feats = self.body(x)
        w, b = self.head_w, self.head_b
        for _ in range(steps):
            loss = F.mse_loss(F.linear(feats, w, b), y)
            gw, gb = torch.autograd.grad(loss, (w, b), create_graph=True)
            w = nn.Parameter(w - inner_lr * gw)  #C
            b = nn.Parameter(b - inner_lr * gb)  #C
        return w, b

    def predict(self, x, fast):
        return F.linear(self.body(x), *fast)


def sine_task(k=10):
    amp = 0.5 + 1.5 * torch.rand(1)
    phase = math.pi * torch.rand(1)
    x = torch.rand(2 * k, 1) * 6 - 3
    y = amp * torch.sin(x + phase)
    return (x[:k], y[:k]), (x[k:], y[k:])


def meta_step(model, opt, n_tasks=4):
    total = 0.0
    opt.zero_grad()
    for _ in range(n_tasks):
        support, query = sine_task()
        fast = model.adapt(*support)
        loss = F.mse_loss(model.predict(query[0], fast), query[1]) / n_tasks
        loss.backward()
        total += loss.item()
    opt.step()
    return total


def main():
    model = MetaRegressor()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    w0, b0 = model.head_w.detach().clone(), model.head_b.detach().clone()
    for it in range(40):
        loss = meta_step(model, opt)
        if it % 10 == 0:
            print(f"meta iteration {it} query mse {loss:.4f}")
    same = torch.equal(w0, model.head_w) and torch.equal(b0, model.head_b)
    print("meta-learned head changed:", not same)


if __name__ == "__main__":
    main()
