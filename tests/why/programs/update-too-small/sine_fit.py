# update-too-small | lr/learning rate, small/tiny/1e-12/1e-11
# evidence: largest change of any weight below 1e-6: True
import argparse
import math
import torch
from torch import nn


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--lr", type=float, default=1e-11)  #C
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--steps", type=int, default=40)
    p.add_argument("--hidden", type=int, default=32)
    p.add_argument("--momentum", type=float, default=0.9)
    return p.parse_args()


class SineNet(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.inp = nn.Linear(1, hidden)
        self.mid = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h = torch.tanh(self.inp(x))
        h = torch.tanh(self.mid(h)) + h
        return self.out(h)


def sample(n):
    x = torch.rand(n, 1) * 2 * math.pi - math.pi
    return x, torch.sin(x)


def evaluate(model):
    model.eval()
    with torch.no_grad():
        x = torch.linspace(-math.pi, math.pi, 100).unsqueeze(1)
        return (model(x) - torch.sin(x)).abs().mean().item()


def main():
    args = parse_args()
    torch.manual_seed(0)
    model = SineNet(args.hidden)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum)  #C
    start = [p.detach().clone() for p in model.parameters()]
    for step in range(args.steps):
        model.train()
        x, y = sample(args.batch_size)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step:3d} loss {loss.item():.5f} mean abs error {evaluate(model):.4f}")
    change = max((p.detach() - s).abs().max().item() for p, s in zip(model.parameters(), start))
    print("largest change of any weight below 1e-6:", change < 1e-6)


if __name__ == "__main__":
    main()
