# ok
# evidence: done
"""Second-order MAML for sinusoids, with learned per-tensor inner step sizes."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call


def sine_task(gen):
    amp = 0.5 + 2.0 * torch.rand(1, generator=gen)
    phase = math.pi * torch.rand(1, generator=gen)

    def draw(k):
        x = 6 * torch.rand(k, 1, generator=gen) - 3
        return x, amp * torch.sin(x + phase)
    return draw


class Learner(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, hidden), nn.Tanh(),
                                 nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x)


class Maml(nn.Module):
    def __init__(self, inner_steps=2, lr0=0.05):
        super().__init__()
        self.learner = Learner()
        self.inner_steps = inner_steps
        n = len(list(self.learner.parameters()))
        self.log_lr = nn.Parameter(torch.full((n,), math.log(lr0)))

    def adapt(self, x, y, create_graph):
        fast = dict(self.learner.named_parameters())
        for _ in range(self.inner_steps):
            loss = F.mse_loss(functional_call(self.learner, fast, (x,)), y)
            grads = torch.autograd.grad(loss, list(fast.values()), create_graph=create_graph)
            rates = self.log_lr.exp()
            fast = {k: p - rates[i] * g
                    for i, ((k, p), g) in enumerate(zip(fast.items(), grads))}
        return fast

    def query_loss(self, task, k=10, create_graph=True):
        fast = self.adapt(*task(k), create_graph)
        xq, yq = task(k)
        return F.mse_loss(functional_call(self.learner, fast, (xq,)), yq)


def evaluate(model, seed=77, n=30):
    gen = torch.Generator().manual_seed(seed)
    losses = [model.query_loss(sine_task(gen), create_graph=False).item() for _ in range(n)]
    return sum(losses) / n


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(3)
    model = Maml()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    print(f"before {evaluate(model):.4f}")
    for it in range(60):
        loss = sum(model.query_loss(sine_task(gen)) for _ in range(4)) / 4
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        if it % 20 == 19:
            print(f"iter {it:3d} query loss {loss.item():.4f}")
    print(f"after {evaluate(model):.4f}")
    print("inner rates", [round(v, 3) for v in model.log_lr.exp().tolist()])


if __name__ == "__main__":
    main()
print("evidence: done")
