# eval-not-undone | eval, train
# evidence: batchnorm statistics moved during training: False
import argparse

import torch
from torch import nn
from torch.nn import functional as F


def conv_bn(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU())


class Localizer(nn.Module):
    """Predicts the (row, col) of a bright spot."""

    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(conv_bn(1, 8), nn.MaxPool2d(2), conv_bn(8, 8))
        self.head = nn.Linear(8 * 16, 2)

    def forward(self, x):
        return self.head(self.trunk(x).flatten(1))


class SpotData:
    def __init__(self, size=8):
        self.size = size

    def batch(self, n):
        pos = torch.randint(0, self.size, (n, 2))
        img = 2.0 + 0.1 * torch.randn(n, 1, self.size, self.size)
        img[torch.arange(n), 0, pos[:, 0], pos[:, 1]] += 3.0
        return img, pos.float() / self.size


class Runner:
    def __init__(self, args):
        self.args = args
        self.data = SpotData()
        self.model = Localizer()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)

    @torch.no_grad()
    def sanity_check(self, batches=2):
        self.model.eval()  #C
        errors = []
        for _ in range(batches):
            img, pos = self.data.batch(8)
            errors.append(F.l1_loss(self.model(img), pos).item())
        print(f"sanity check ok, untrained error {sum(errors) / len(errors):.3f}")

    def train(self):
        for step in range(self.args.steps):  #C
            img, pos = self.data.batch(self.args.batch_size)
            loss = F.smooth_l1_loss(self.model(img), pos)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % 8 == 0:
                print(f"step {step} loss {loss.item():.4f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=32)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--lr", type=float, default=1e-3)
    args = parser.parse_args([])
    torch.manual_seed(0)
    runner = Runner(args)
    runner.sanity_check()
    start = [b.clone() for b in runner.model.buffers()]
    runner.train()
    moved = any(not torch.equal(a, b) for a, b in zip(start, runner.model.buffers()))
    print("batchnorm statistics moved during training:", moved)


if __name__ == "__main__":
    main()
