"""Peak memory of one training step in tensors' bytes, on both libraries: `python -m benchmarks.memory`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

SIZES = (512, 1024, 1024, 1024, 10)
BATCH = 256


def make_step(torch: Any) -> Callable[[], None]:
    torch.manual_seed(0)
    layers: list[Any] = []
    for i in range(len(SIZES) - 1):
        layers += [torch.nn.Linear(SIZES[i], SIZES[i + 1]), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers[:-1])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, target = torch.randn(BATCH, SIZES[0]), torch.randint(0, 10, (BATCH,))

    def step() -> None:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), target)
        loss.backward()
        optimizer.step()

    return step


def peak_of_whygrad() -> int:
    """NumPy reports its arrays to tracemalloc."""
    import tracemalloc

    import whygrad

    step = make_step(whygrad)
    step()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    step()
    return tracemalloc.get_traced_memory()[1] - before


def peak_of_torch() -> int:
    """torch's profiler reports every allocation and release."""
    import torch

    step = make_step(torch)
    step()
    with torch.profiler.profile(profile_memory=True) as profile:
        step()
    held = peak = 0
    for event in profile.profiler.kineto_results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            peak = max(peak, held)
    return peak


def measured(library: str) -> int:
    done = subprocess.run([sys.executable, "-m", "benchmarks.memory", library], capture_output=True, text=True, check=True)
    result: int = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(peak_of_torch() if sys.argv[1] == "torch" else peak_of_whygrad()))
        return
    theirs, ours = measured("torch"), measured("whygrad")
    print(f"peak of one MLP step beyond the parameters: torch {theirs / 2**20:.1f} MiB, whygrad {ours / 2**20:.1f} MiB, "
          f"ratio {ours / theirs:.2f}")


if __name__ == "__main__":
    main()
