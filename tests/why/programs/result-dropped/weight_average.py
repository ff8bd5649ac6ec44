# result-dropped | not read again, no effect
# evidence: averaged weights moved: 0.0
import copy

import torch
from torch import nn

torch.manual_seed(3)


class Average:
    """Keeps an exponential average of a model's weights for evaluation."""

    def __init__(self, model, decay=0.9):
        self.model = copy.deepcopy(model).eval()
        self.decay = decay
        self.start = [p.detach().clone() for p in self.model.parameters()]
        for p in self.model.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for averaged, p in zip(self.model.parameters(), model.parameters()):
            averaged = self.decay * averaged + (1 - self.decay) * p  #C

    def moved(self):
        return sum((p - q).abs().sum().item() for p, q in zip(self.model.parameters(), self.start))


def batches(count):
    generator = torch.Generator().manual_seed(4)
    for _ in range(count):
        x = torch.randn(32, 6, generator=generator)
        yield x, (x[:, :1] - 0.5 * x[:, 1:2]).tanh()


def train(steps=30):
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
    average = Average(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for x, y in batches(steps):
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
        average.update(model)
    with torch.no_grad():
        x, y = next(batches(1))
        print(f"validation {nn.functional.mse_loss(average.model(x), y):.3f}")
    return average


print("averaged weights moved:", train().moved())
