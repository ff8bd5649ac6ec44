"""Peak memory of a training step with and without checkpoints, on both libraries: `python -m benchmarks.checkpointing`.

The gradients must be the same bit for bit; what is printed is the largest sum of tensors' bytes during the step, beyond the
parameters and their gradients.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.peaks import peak_of

DEPTH, WIDTH, BATCH = 24, 256, 512
VARIANTS = ("plain", "checkpointed", "re-entrant")


def make_step(torch: Any, variant: str) -> tuple[Callable[[], None], list[Any]]:
    checkpoint = importlib.import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    torch.manual_seed(0)
    nn = torch.nn
    blocks = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Dropout(0.1), nn.Linear(WIDTH, WIDTH), nn.ReLU())
              for _ in range(DEPTH)]
    parameters = [p for block in blocks for p in block.parameters()]
    x = torch.randn(BATCH, WIDTH, requires_grad=True)

    def step() -> None:
        torch.manual_seed(1)
        for p in parameters:
            if p.grad is not None:
                p.grad.zero_()
        h = x
        for block in blocks:
            h = block(h) if variant == "plain" else checkpoint(block, h, use_reentrant=variant == "re-entrant")
        (h * h).mean().backward()

    return step, parameters


def measure(library: str) -> dict[str, Any]:
    """By variant: the peak in bytes, and whether the gradients are those of the plain step."""
    module = importlib.import_module(library)
    importlib.import_module(f"{library}.nn")
    results, expected = {}, None
    for variant in VARIANTS:
        step, parameters = make_step(module, variant)
        step()
        gradients = [p.grad.numpy().tobytes() for p in parameters]
        expected = expected or gradients
        peak = peak_of(library, step)
        results[variant] = {"peak": peak, "same": gradients == expected}
    return results


def main() -> None:
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1])))
        return
    found = {}
    for library in ("torch", "whygrad"):
        command = [sys.executable, "-m", "benchmarks.checkpointing", library]
        found[library] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1])
    print(f"{DEPTH} blocks of two linear layers, width {WIDTH}, batch {BATCH}\n"
          "peak of one step beyond parameters and gradients\n")
    print(f"{'':<14}{'torch':>12}{'whygrad':>12}{'ratio':>8}   gradients of whygrad")
    for variant in VARIANTS:
        theirs, ours = found["torch"][variant], found["whygrad"][variant]
        verdict = "the same bit for bit" if ours["same"] else "DIFFERENT"
        print(f"{variant:<14}{theirs['peak'] / 2**20:>8.1f} MiB{ours['peak'] / 2**20:>8.1f} MiB"
              f"{ours['peak'] / theirs['peak']:>8.2f}   {verdict}")


if __name__ == "__main__":
    main()
