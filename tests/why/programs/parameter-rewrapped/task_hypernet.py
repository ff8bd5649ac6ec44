# parameter-rewrapped | parameter
# evidence: hypernetwork changed: False
# parameters: hyper.0.weight, hyper.0.bias, hyper.2.weight, hyper.2.bias, task_emb.weight
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)

N_TASKS, IN, OUT = 4, 5, 3


class HyperRegressor(nn.Module):
    """A small network writes the weights of the output layer for every task."""

    def __init__(self, emb=6, hidden=24):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(IN, 16), nn.Tanh())
        self.task_emb = nn.Embedding(N_TASKS, emb)
        self.hyper = nn.Sequential(nn.Linear(emb, hidden), nn.ReLU(), nn.Linear(hidden, OUT * 16))

    def forward(self, x, task):
        code = self.task_emb(task)
        w = nn.Parameter(self.hyper(code).view(OUT, 16))  #C
        return F.linear(self.features(x), w)


class Tasks:
    def __init__(self):
        self.mats = torch.randn(N_TASKS, IN, OUT)

    def batch(self, t, n=32):
        x = torch.randn(n, IN)
        return x, torch.tanh(x @ self.mats[t])


def train(model, tasks, steps=48):
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    history = []
    for step in range(steps):
        t = step % N_TASKS
        x, y = tasks.batch(t)
        loss = F.mse_loss(model(x, torch.tensor(t)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        history.append(loss.item())
        if step % 12 == 11:
            print(f"step {step + 1} loss {sum(history[-N_TASKS:]) / N_TASKS:.4f}")
    return history


def main():
    model, tasks = HyperRegressor(), Tasks()
    before = [p.detach().clone() for p in model.hyper.parameters()]
    train(model, tasks)
    changed = any(not torch.equal(a, b) for a, b in zip(before, model.hyper.parameters()))
    print("hypernetwork changed:", changed)


if __name__ == "__main__":
    main()
