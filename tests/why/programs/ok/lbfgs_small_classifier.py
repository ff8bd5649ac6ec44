# ok
# evidence: training loss went down: True, accuracy above 0.9: True
import torch
import torch.nn.functional as F
from torch import nn


def spirals(n=60):
    r = torch.linspace(0.3, 1.5, n)
    angle = 2.0 * r
    a = torch.stack([r * angle.cos(), r * angle.sin()], 1)
    x = torch.cat([a, -a]) + 0.03 * torch.randn(2 * n, 2)
    return x, torch.cat([torch.zeros(n), torch.ones(n)]).long()


class Trainer:
    def __init__(self, model, x, y, l2=1e-4):
        self.model, self.x, self.y, self.l2 = model, x, y, l2
        self.opt = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=10, history_size=10)

    def closure(self):
        self.opt.zero_grad()
        loss = F.cross_entropy(self.model(self.x), self.y)
        loss = loss + self.l2 * sum(p.pow(2).sum() for p in self.model.parameters())
        loss.backward()
        return loss

    def fit(self, steps):
        history = []
        for i in range(steps):
            history.append(self.opt.step(self.closure).item())
            print(f"outer step {i} loss {history[-1]:.4f}")
        return history


def main():
    torch.manual_seed(25)
    x, y = spirals()
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 2))
    history = Trainer(model, x, y).fit(10)
    with torch.no_grad():
        acc = (model(x).argmax(1) == y).float().mean().item()
    print(f"training loss went down: {history[-1] < history[0]}, accuracy above 0.9: {acc > 0.9}")


if __name__ == "__main__":
    main()
