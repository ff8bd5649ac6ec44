# frozen
# evidence: done
"""Transfer learning: pretrain on task A, linear probe on task B."""
import argparse
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, d=20, h=48, classes=6):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(d, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU())
        self.head = nn.Linear(h, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def sampler(centers, noise):
    def draw(n):
        y = torch.randint(0, len(centers), (n,))
        return centers[y] + noise * torch.randn(n, centers.shape[1]), y
    return draw


def accuracy(model, draw):
    model.eval()
    with torch.no_grad():
        x, y = draw(500)
        acc = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return acc


def fit(model, draw, optimizer, steps):
    for step in range(steps):
        x, y = draw(64)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def freeze(module):
    for p in module.parameters():
        p.require_grad = False  #C


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--pretrain-steps", type=int, default=200)
    ap.add_argument("--probe-steps", type=int, default=150)
    ap.add_argument("--probe-lr", type=float, default=0.3)
    args = ap.parse_args()
    torch.manual_seed(0)
    task_a = sampler(torch.randn(6, 20), 0.8)
    task_b = sampler(torch.randn(3, 20), 0.8)

    model = Model()
    fit(model, task_a, torch.optim.Adam(model.parameters(), lr=2e-3), args.pretrain_steps)
    print(f"task A accuracy {accuracy(model, task_a):.3f}")
    head_a = model.head

    freeze(model.backbone)  #C
    model.head = nn.Linear(48, 3)
    optimizer = torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()),  #C
                                lr=args.probe_lr, momentum=0.9)
    loss = fit(model, task_b, optimizer, args.probe_steps)
    print(f"task B loss {loss:.4f} accuracy {accuracy(model, task_b):.3f}")

    model.head = head_a
    print(f"task A accuracy with old head {accuracy(model, task_a):.3f}")


if __name__ == "__main__":
    main()
print("evidence: done")
