# clip-misplaced | clip
# evidence: every entry moved at most lr * clip per step: False
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.nn.utils import clip_grad_value_


@dataclass
class Options:
    lr: float = 0.05
    clip: float = 0.3
    steps: int = 40
    batch: int = 16


class SpikeRegressor(nn.Module):
    """Targets have rare spikes, so gradients are clipped by value."""

    def __init__(self, n_in=6):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 20), nn.ReLU(), nn.Linear(20, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def spiky(n):
    x = torch.randn(n, 6)
    y = x[:, 0] - x[:, 1] + 6.0 * (torch.rand(n) < 0.1).float()
    return x, y


class Loop:
    def __init__(self, opt):
        self.opt = opt
        self.model = SpikeRegressor()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=opt.lr)
        self.loss_fn = nn.MSELoss()
        self.largest = 0.0

    def params(self):
        return torch.cat([p.detach().flatten() for p in self.model.parameters()])

    def on_step_end(self):
        clip_grad_value_(self.model.parameters(), self.opt.clip)  #C
        self.optimizer.zero_grad()

    def run(self):
        for step in range(self.opt.steps):
            x, y = spiky(self.opt.batch)
            loss = self.loss_fn(self.model(x), y)
            loss.backward()
            start = self.params()
            self.optimizer.step()  #C
            self.on_step_end()  #C
            self.largest = max(self.largest, (self.params() - start).abs().max().item())
            if step % 10 == 0:
                print(f"step {step} mse {loss.item():.3f}")


def main():
    torch.manual_seed(69)
    opt = Options()
    loop = Loop(opt)
    loop.run()
    print("every entry moved at most lr * clip per step:", loop.largest <= 1.01 * opt.lr * opt.clip)


if __name__ == "__main__":
    main()
