# optimizer-state-lost
# evidence: done
"""Training with periodic checkpoints; the second half resumes from the saved file."""
import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, d=20, h=64, classes=5):
        super().__init__()
        self.fc1 = nn.Linear(d, h)
        self.bn1 = nn.BatchNorm1d(h)
        self.fc2 = nn.Linear(h, h)
        self.fc3 = nn.Linear(h, classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.fc1(x)))
        return self.fc3(F.relu(self.fc2(x)))


def load_data(seed=0, n=3000):
    g = torch.Generator().manual_seed(seed)
    teacher = nn.Sequential(nn.Linear(20, 30), nn.Tanh(), nn.Linear(30, 5))
    with torch.no_grad():
        for p in teacher.parameters():
            p.copy_(torch.randn(p.shape, generator=g))
        x = torch.randn(n, 20, generator=g)
        y = teacher(x).argmax(1)
    return x, y


def build(args):
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, betas=(0.9, 0.999))
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    return model, optimizer, scheduler


def save_checkpoint(path, epoch, model, optimizer, scheduler):
    torch.save({
        "epoch": epoch,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scheduler": scheduler.state_dict(),
    }, path)


def load_checkpoint(path, model, optimizer, scheduler):  #C
    ckpt = torch.load(path, weights_only=True)
    model.load_state_dict(ckpt["model"])  #C
    scheduler.load_state_dict(ckpt["scheduler"])  #C
    return ckpt["epoch"] + 1


def train(args, ckpt_path, stop_epoch):
    x, y = load_data()
    model, optimizer, scheduler = build(args)
    start = 0
    if os.path.exists(ckpt_path):
        start = load_checkpoint(ckpt_path, model, optimizer, scheduler)
        print(f"resumed from epoch {start}")
    for epoch in range(start, stop_epoch):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(x)).split(args.batch_size):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        print(f"epoch {epoch} lr {optimizer.param_groups[0]['lr']:.5f} loss {total / len(x):.4f}")
        scheduler.step()
        save_checkpoint(ckpt_path, epoch, model, optimizer, scheduler)
    return model, optimizer, scheduler


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=100)
    parser.add_argument("--lr", type=float, default=5e-3)
    args = parser.parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "last.pt")
        train(args, path, stop_epoch=args.epochs // 2)
        train(args, path, stop_epoch=args.epochs)


if __name__ == "__main__":
    main()
print("evidence: done")
