"""What explanations cost a program on real PyTorch: `python -m benchmarks.recording_on_torch`.

Blocks of steps under a watch and without one alternate in one process; the figure is the median of the ratios of neighbouring
blocks, in CPU time, on one thread. A step under the watch is of one of three kinds (see whygrad/why/audit/rounds.py): *observed*,
*listened to* or *resting*; `whole run` has them as a run of so many steps has them, the first twelve observed.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from benchmarks.recording import resident
from whygrad.for_torch import tensor_facts
from whygrad.why import engine
from whygrad.why.audit import audit, rounds
from whygrad.why.watch import Watch

Step = Callable[[], None]
KINDS = ("recorded", "observed", "resting")
clock = time.process_time
# Steps of each block that are not timed.
WARMING = 3


def chain(device: str) -> Step:
    """200 operations on 16 numbers."""
    x = torch.randn(16, requires_grad=True, device=device)
    optimizer = torch.optim.SGD([x], lr=1e-6)

    def step() -> None:
        y = x
        for _ in range(50):
            y = torch.tanh(y * 1.01 + 0.1) - x
        y.sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def mlp(device: str) -> Step:
    net = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10)).to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    x, y = torch.randn(64, 784, device=device), torch.randint(0, 10, (64,), device=device)

    def step() -> None:
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()

    return step


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        q, k, v = self.qkv(self.ln1(x)).split(width, dim=2)
        q, k, v = (t.view(batch, length, self.heads, width // self.heads).transpose(1, 2) for t in (q, k, v))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.ln2(x))))


class GPT(nn.Module):
    def __init__(self, words: int, width: int, heads: int, layers: int, length: int) -> None:
        super().__init__()
        self.tok, self.pos = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.ln, self.head = nn.LayerNorm(width), nn.Linear(width, words)

    def forward(self, i: Any) -> Any:
        x = self.tok(i) + self.pos(torch.arange(i.shape[1], device=i.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln(x))


def gpt(device: str, words: int = 256, width: int = 128, heads: int = 4, layers: int = 4, length: int = 64) -> Step:
    model = GPT(words, width, heads, layers, length).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = torch.randint(0, words, (8, length + 1), device=device)

    def step() -> None:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data[:, :-1]).reshape(-1, words), data[:, 1:].reshape(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def gpt384(device: str) -> Step:
    return gpt(device, words=1024, width=384, heads=6, layers=6, length=128)


WORKLOADS = {"chain": chain, "mlp": mlp, "gpt": gpt, "gpt384": gpt384}


@contextmanager
def watched(kind: str = "") -> Iterator[Watch]:
    """Under a watch; all rounds are of this kind, or of those that a run has."""
    subjects = audit.SUBJECTS
    if kind == "recorded":
        audit.SUBJECTS = ()
    plain = rounds.is_observed, rounds.is_sampled, rounds.is_listened, rounds.OBSERVED_FIRST, rounds.FIRST_OF_A_LINE
    if kind:
        rounds.is_sampled = lambda number: False
        rounds.FIRST_OF_A_LINE = 0
        rounds.is_observed = lambda number: kind in ("recorded", "observed")
        rounds.is_listened = lambda number: kind != "resting"
        rounds.OBSERVED_FIRST = 0
    watch = Watch()
    watch.start()
    try:
        yield watch
    finally:
        watch.stop()
        audit.SUBJECTS = subjects
        rounds.is_observed, rounds.is_sampled, rounds.is_listened, rounds.OBSERVED_FIRST, rounds.FIRST_OF_A_LINE = plain
        if watch.failures:
            raise RuntimeError(watch.failures)


def seconds(step: Step, count: int, device: str) -> float:
    begin = clock() if device == "cpu" else time.perf_counter()
    for _ in range(count):
        step()
    if device == "cpu":
        return clock() - begin
    torch.cuda.synchronize()
    return time.perf_counter() - begin


def ratios(step: Step, kind: str, steps: int, budget: float, device: str) -> list[float]:
    """Of watched blocks to the plain ones before and after each."""
    found: list[float] = []
    until = time.perf_counter() + budget
    before = seconds(step, steps, device)
    while time.perf_counter() < until or len(found) < 3:
        with watched(kind):
            for _ in range(WARMING if kind else 0):
                step()  # the kind of a round is settled at the end of the one before, and its lines are new
            recorded = seconds(step, steps, device)
        step()
        after = seconds(step, steps, device)
        found.append(2 * recorded / (before + after))
        before = after
    return found


def synchronisations(step: Step, count: int) -> int:
    """How often these steps wait for the device, as far as torch notices."""
    torch.cuda.synchronize()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            for _ in range(count):
                step()
        finally:
            torch.cuda.set_sync_debug_mode("default")
    return sum("synchronizing CUDA operation" in str(warning.message) for warning in caught)


def waits(step: Step, steps: int = 64) -> str:
    plain = synchronisations(step, steps)
    with watched("resting"):
        for _ in range(WARMING):
            step()
        recorded = synchronisations(step, steps)
    return f"waits for the device in {steps} resting steps: {recorded}, without the watch {plain}"


def told(name: str, kind: str, found: list[float]) -> str:
    low, middle, high = statistics.quantiles(found, n=4)
    return f"{name:7} {kind:12} x{middle:.3f}  (quartiles {low:.3f} .. {high:.3f}, {len(found)} pairs)"


def memory(steps: int) -> None:
    """What a long run leaves behind, of a small model."""
    with watched():
        step = mlp("cpu")
        for number in range(1, steps + 1):
            step()
            if number == 500 or number == steps:
                known = tensor_facts.count()
                print(f"memory after {number} steps: {resident() / 2**20:.1f} MiB, {known} tensors in the side table", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recording_on_torch", description=__doc__)
    parser.add_argument("--only", nargs="*", choices=[*WORKLOADS, "memory"], default=[*WORKLOADS, "memory"])
    parser.add_argument("--kinds", nargs="*", default=[*KINDS, "whole run"])
    parser.add_argument("--budget", type=float, default=15, help="seconds for each figure (default 15)")
    parser.add_argument("--steps", type=int, default=500, help="steps of a whole run (default 500)")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args()
    torch.set_num_threads(1)
    engine.choose("torch")
    for name in args.only:
        if name == "memory":
            memory(5000)
            continue
        torch.manual_seed(0)
        with watched("resting"):
            step = WORKLOADS[name](args.device)
        for _ in range(3):
            step()
        one = seconds(step, 3, args.device) / 3
        print(f"{name:7} plain step {one * 1e3:.2f} ms", flush=True)
        if args.device != "cpu":
            print(f"{name:7} {waits(step)}", flush=True)
        for kind in args.kinds:
            whole = kind == "whole run"
            count = args.steps if whole else max(4, int(0.05 / one))
            print(told(name, kind, ratios(step, "" if whole else kind, count, args.budget, args.device)), flush=True)


if __name__ == "__main__":
    main()
