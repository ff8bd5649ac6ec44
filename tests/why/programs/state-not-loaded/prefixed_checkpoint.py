# state-not-loaded
# evidence: done
"""Pretrain, checkpoint, resume."""
import argparse
import os
import tempfile
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.head = nn.Linear(64, 4)

    def forward(self, x):
        return self.head(self.body(x))


def get_batch(centers, n=64):
    y = torch.randint(0, 4, (n,))
    return centers[y] + 0.8 * torch.randn(n, 16), y


def run(model, opt, centers, steps, start=0, log_every=50):
    model.train()
    for step in range(start, start + steps):
        x, y = get_batch(centers)
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % log_every == 0 or step == start:
            print(f"  step {step:4d} loss {loss.item():.4f}")
    return start + steps


def save_checkpoint(path, model, opt, step):
    torch.save({"model": model.state_dict(), "optimizer": opt.state_dict(), "step": step}, path)  #C


def load_checkpoint(path, model, opt):
    ckpt = torch.load(path, map_location="cpu", weights_only=True)
    model.load_state_dict(ckpt["model"], strict=False)  #C
    opt.load_state_dict(ckpt["optimizer"])
    print(f"=> loaded checkpoint '{os.path.basename(path)}' (step {ckpt['step']})")
    return ckpt["step"]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=200)
    p.add_argument("--resume-steps", type=int, default=60)
    p.add_argument("--lr", type=float, default=1e-3)
    args = p.parse_args()
    torch.manual_seed(0)
    centers = torch.randn(4, 16)
    ckpt_path = os.path.join(tempfile.mkdtemp(), "last.pth")

    print("stage 1")
    model = nn.DataParallel(Net())  #C
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    step = run(model, opt, centers, args.steps)
    save_checkpoint(ckpt_path, model, opt, step)

    print("stage 2 (resume)")
    model = Net()
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    step = load_checkpoint(ckpt_path, model, opt)
    run(model, opt, centers, args.resume_steps, start=step, log_every=20)


if __name__ == "__main__":
    main()
print("evidence: done")
