# ok
# evidence: stem frozen in warmup: True, stem trained later: True, loss went down: True
import argparse

import torch
import torch.nn.functional as F
from torch import nn


class SmallCNN(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, padding=1)
        self.body = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        x = F.gelu(self.stem(x))
        x = F.gelu(self.body(x))
        return self.fc(x.mean(dim=(2, 3)))


def set_trainable(module, flag):
    for p in module.parameters():
        p.requires_grad = flag


def batch(n, templates):
    y = torch.randint(0, len(templates), (n,))
    return templates[y] + 0.4 * torch.randn(n, 1, 8, 8), y


def parse():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=40)
    ap.add_argument("--warmup", type=int, default=10)
    ap.add_argument("--lr", type=float, default=5e-3)
    return ap.parse_args()


def main():
    args = parse()
    torch.manual_seed(1)
    templates = torch.randn(4, 1, 8, 8)
    model = SmallCNN()
    # every parameter is registered once; only those with requires_grad take part in a step
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    first = model.stem.weight.detach().clone()
    frozen_ok = False
    losses = []
    for step in range(args.steps):
        set_trainable(model.stem, step >= args.warmup)
        x, y = batch(32, templates)
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        losses.append(loss.item())
        if step == args.warmup - 1:
            frozen_ok = torch.equal(first, model.stem.weight.detach())
        if step % 10 == 0:
            print(f"step {step:3d} loss {losses[-1]:.4f}")
    trained = not torch.allclose(first, model.stem.weight.detach())
    down = sum(losses[-5:]) < sum(losses[:5])
    print(f"stem frozen in warmup: {frozen_ok}, stem trained later: {trained}, loss went down: {down}")


if __name__ == "__main__":
    main()
