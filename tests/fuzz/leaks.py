"""`python -m tests.fuzz.leaks --steps 1000000`: training steps of a tiny model, after which memory must be what it was.

Ten measurements after a tenth of the steps each. The first three are the warm-up, in which kernels are compiled; from then on
the process may grow by 1 MiB.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import sys
import time
from typing import Any

import whygrad as torch

ALLOWED, WARM_UP = 1 << 20, 3


def resident() -> int:
    gc.collect()
    torch.empty_cache()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def train(steps: int, model: torch.nn.Module, optimizer: torch.optim.Optimizer, schedule: Any) -> None:
    """Everything that a step may leave something of: hooks, views, writes, no_grad, double backward, errors, checkpoints."""
    x = torch.randn(8, 4)
    for number in range(steps):
        optimizer.zero_grad()
        hidden = model[0](x)
        hidden.retain_grad()
        hidden[:, 0].mul_(0.5)
        loss = model[1:](hidden).square().mean()
        handle = loss.register_hook(lambda g: g)
        if number % 10 == 0:
            (first,) = torch.autograd.grad(loss, [model[0].weight], create_graph=True)
            loss = loss + first.square().sum() * 1e-3
        loss.backward()
        handle.remove()
        optimizer.step()
        schedule.step()
        if number % 100 == 0:
            with torch.no_grad():
                model(x).view(-1)[0] = 1.0
            with contextlib.suppress(RuntimeError):
                loss.backward()
            model.load_state_dict({name: value.clone() for name, value in model.state_dict().items()})


def measured(steps: int) -> list[int]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1000, 0.99)
    sizes = []
    for _ in range(10):
        train(steps // 10, model, optimizer, schedule)
        sizes.append(resident())
    return sizes


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.leaks", description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    options = parser.parse_args()
    started = time.monotonic()
    sizes = measured(options.steps)
    growth = sizes[-1] - sizes[WARM_UP]
    shown = ", ".join(f"{size / 2**20:.1f}" for size in sizes)
    print(f"{options.steps} steps in {time.monotonic() - started:.0f} s: {shown} MiB, growth {growth / 1024:.0f} KiB")
    return growth > ALLOWED


if __name__ == "__main__":
    sys.exit(main())
