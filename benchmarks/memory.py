"""Peak memory of one training step in tensors' bytes, on both libraries: `python -m benchmarks.memory`."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.peaks import peak_of

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


def peak(library: str) -> int:
    step = make_step(importlib.import_module(library))
    step()
    return peak_of(library, step)


def measured(library: str) -> int:
    done = subprocess.run([sys.executable, "-m", "benchmarks.memory", library], capture_output=True, text=True, check=True)
    result: int = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(peak(sys.argv[1])))
        return
    theirs, ours = measured("torch"), measured("whygrad")
    print(f"peak of one MLP step beyond the parameters: torch {theirs / 2**20:.1f} MiB, whygrad {ours / 2**20:.1f} MiB, "
          f"ratio {ours / theirs:.2f}")


if __name__ == "__main__":
    main()
