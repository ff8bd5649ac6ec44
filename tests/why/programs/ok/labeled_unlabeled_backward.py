# ok
# evidence: two backward passes per step: 80, accuracy improved: True
import torch
import torch.nn as nn
import torch.nn.functional as F


class SemiSupervised:
    """Supervised loss and entropy minimisation, each with its own backward pass before one step."""

    def __init__(self, model, lr=0.05):
        self.model = model
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.backwards = 0

    def accumulate(self, loss):
        loss.backward()
        self.backwards += 1
        return loss.item()

    def step(self, x, y, u):
        self.opt.zero_grad()
        sup = self.accumulate(F.cross_entropy(self.model(x), y))
        logp = self.model(u).log_softmax(1)
        ent = self.accumulate(0.1 * -(logp.exp() * logp).sum(1).mean())
        self.opt.step()
        return sup, ent


def sample(n, centers):
    y = torch.randint(0, len(centers), (n,))
    return centers[y] + 0.8 * torch.randn(n, centers.shape[1]), y


def main():
    torch.manual_seed(54)
    centers = 1.2 * torch.randn(6, 10)
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 6))
    trainer = SemiSupervised(model)
    xt, yt = sample(240, centers)

    @torch.no_grad()
    def accuracy():
        return (model(xt).argmax(1) == yt).float().mean().item()

    first = accuracy()
    for it in range(40):
        x, y = sample(16, centers)
        u, _ = sample(48, centers)
        sup, ent = trainer.step(x, y, u)
        if it % 10 == 9:
            print(f"iter {it + 1} sup {sup:.3f} entropy term {ent:.3f} acc {accuracy():.3f}")
    print(f"two backward passes per step: {trainer.backwards}, accuracy improved: {accuracy() > first}")


if __name__ == "__main__":
    main()
