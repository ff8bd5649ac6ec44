"""Interrupt a training in the middle, save everything, start anew from the file, and go on as if nothing had happened."""

import argparse
import os
import tempfile

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


class Residual(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return x + self.inner(x)


def make_training():
    model = nn.Sequential(
        nn.Linear(10, 32),
        Residual(nn.Sequential(nn.BatchNorm1d(32), nn.Mish(), nn.Linear(32, 32))),
        nn.Dropout(0.1),
        nn.Linear(32, 1),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=10)
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    return model, optimizer, scheduler, average


def save(path, step, *parts):
    states = [part.state_dict() for part in parts]
    torch.save({"step": step, "states": states, "rng": torch.get_rng_state()}, path)


def load(path, *parts):
    checkpoint = torch.load(path, weights_only=True)
    for part, state in zip(parts, checkpoint["states"]):
        part.load_state_dict(state)
    torch.set_rng_state(checkpoint["rng"])
    return checkpoint["step"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    model, optimizer, scheduler, average = make_training()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint.pt")
        for step in range(args.steps):
            if step == args.steps // 2:
                save(path, step, model, optimizer, scheduler, average)
                model, optimizer, scheduler, average = make_training()
                assert load(path, model, optimizer, scheduler, average) == step

            x = torch.randn(32, 10)
            target = (x[:, :3].prod(dim=1, keepdim=True) + x[:, 3:].sum(dim=1, keepdim=True)).tanh()
            loss = nn.functional.mse_loss(model(x), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            average.update_parameters(model)
            print(f"step {step} loss {loss.item():.6f} lr {scheduler.get_last_lr()[0]:.4f}")

    average.eval()
    x = torch.randn(100, 10)
    print(f"averaged model, mean absolute output {average(x).abs().mean():.5f}")


if __name__ == "__main__":
    main()
