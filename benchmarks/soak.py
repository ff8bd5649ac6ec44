"""Random programs for as long as you like, with kernels and without: `python -m benchmarks.soak --minutes 10`.

Two processes run the same programs, one with every row compiled at its first call (`WHYGRAD_KERNELS=always`), one on NumPy
alone. Results and gradients must agree, and neither may crash or hang. A program is named by its number: `--only 4711`
runs one again and prints what it does. It exits with 1 if anything was found.
"""

from __future__ import annotations

import argparse
import io
import os
import pickle
import random
import select
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

SMOOTH: dict[str, Callable[..., Any]] = {
    "exp": lambda T, x: (x * 0.3).exp(), "log": lambda T, x: (x.abs() + 0.5).log(), "sin": lambda T, x: x.sin(),
    "cos": lambda T, x: x.cos(), "tanh": lambda T, x: x.tanh(), "sigmoid": lambda T, x: x.sigmoid(), "erf": lambda T, x: x.erf(),
    "gelu": lambda T, x: T.nn.functional.gelu(x), "silu": lambda T, x: T.nn.functional.silu(x),
    "softplus": lambda T, x: T.nn.functional.softplus(x), "mish": lambda T, x: T.nn.functional.mish(x),
    "log1p": lambda T, x: (x * x).log1p(), "expm1": lambda T, x: (x * 0.2).expm1(), "sqrt": lambda T, x: (x * x + 0.3).sqrt(),
    "square": lambda T, x: (x * 0.5) ** 2, "scale": lambda T, x: x * 0.7 - 0.2, "over": lambda T, x: 1.5 / (x * x + 1.0),
    "relu": lambda T, x: x.relu(), "clamp": lambda T, x: x.clamp(-1.5, 1.5), "where": lambda T, x: T.where(x > 0.1, x, x * 0.1),
    "softmax": lambda T, x: x.softmax(-1), "log_softmax": lambda T, x: x.log_softmax(-1),
    "layer_norm": lambda T, x: T.nn.functional.layer_norm(x, x.shape[-1:], eps=0.1) if x.shape[-1] > 1 else x,
    "in place": lambda T, x: x.clone().mul_(0.9).add_(0.1).tanh_(),
    "slice written": lambda T, x: _write_slice(T, x),
}
LAYOUTS: dict[str, Callable[..., Any]] = {
    "transpose": lambda T, x: x.transpose(0, -1), "contiguous": lambda T, x: x.contiguous(), "flip": lambda T, x: x.flip(0),
    "step": lambda T, x: x[::2], "narrow": lambda T, x: x[..., 1:] if x.shape[-1] > 1 else x,
    "flatten": lambda T, x: x.reshape(-1),
    "fold": lambda T, x: x.reshape(-1, 1), "first": lambda T, x: x[:1], "expand": lambda T, x: x[:1].expand(x.shape),
    "sum": lambda T, x: x.sum(-1, keepdim=True) / 100, "mean": lambda T, x: x.mean(0, keepdim=True),
}
PAIRS: dict[str, Callable[..., Any]] = {
    "add": lambda T, a, b: a + b, "sub": lambda T, a, b: a - b, "mul": lambda T, a, b: a * b * 0.5,
    "div": lambda T, a, b: a / (b * b + 1.0), "maximum": lambda T, a, b: T.maximum(a, b),
    "atan2": lambda T, a, b: T.atan2(a, b * b + 0.5),
}


def _write_slice(torch: Any, x: Any) -> Any:
    y = x.clone()
    y[:1] = x[-1:] * 0.5
    return y


def program(torch: Any, seed: int, say: Callable[[str], None] = lambda text: None) -> list[Any]:
    """Run program number `seed`; gives its results and gradients as arrays."""
    choose = random.Random(seed)
    dtype = choose.choice(["float32", "float32", "float32", "float64"])
    numbers = np.random.default_rng(seed)
    shape = [choose.choice([1, 2, 3, 7, 16, 33, 100]) for _ in range(choose.randint(1, 3))]
    while choose.random() < 0.2 and np.prod(shape) < 30_000:
        shape[-1] *= 7
    leaves = []
    for _ in range(choose.randint(1, 3)):
        own = [n if choose.random() < 0.7 else 1 for n in shape]
        values = numbers.standard_normal(own)
        leaves.append(torch.tensor(values.tolist(), dtype=getattr(torch, dtype)).requires_grad_())
        say(f"leaf {own} {dtype}")
    values = list(leaves)
    for _ in range(choose.randint(3, 14)):
        x = choose.choice(values[-4:])
        kind = choose.random()
        if kind < 0.5:
            name, function = choose.choice(list(SMOOTH.items()))
            made = function(torch, x)
        elif kind < 0.7:
            name, function = choose.choice(list(LAYOUTS.items()))
            made = function(torch, x)
        else:
            name, function = choose.choice(list(PAIRS.items()))
            other = choose.choice(values)
            try:
                large = np.prod(np.broadcast_shapes(tuple(x.shape), tuple(other.shape))) > 200_000
            except ValueError:
                continue
            if large:
                continue
            made = function(torch, x, other)
        say(f"{name} {list(x.shape)} -> {list(made.shape)}")
        if made.numel():
            values.append(made)
    results = values[len(leaves):]
    loss = sum([(y * choose.uniform(0.1, 1)).mean() for y in results[-3:]], torch.zeros((), dtype=getattr(torch, dtype)))
    if loss.requires_grad:
        loss.backward()
    gradients = [x.grad for x in leaves if x.grad is not None]
    return [loss.detach().numpy(), *[y.detach().numpy() for y in results], *[g.numpy() for g in gradients]]


def work() -> None:
    """Read numbers of programs, write their results."""
    import whygrad

    # Buffered whatever PYTHONUNBUFFERED says: it must write all that it is given.
    out = io.BufferedWriter(io.FileIO(1, "w", closefd=False))
    for line in sys.stdin:
        try:
            answer: Any = [np.ascontiguousarray(x) for x in program(whygrad, int(line))]
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        data = pickle.dumps(answer)
        out.write(len(data).to_bytes(8, "little") + data)
        out.flush()


class Worker:
    """A process that runs programs with kernels, or without."""

    def __init__(self, kernels: str) -> None:
        self.kernels = kernels
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-m", "benchmarks.soak", "--work"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env={**os.environ, "WHYGRAD_KERNELS": self.kernels})

    def ask(self, seed: int) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{seed}\n".encode())
        self.process.stdin.flush()

    def answer(self, patience: float) -> Any:
        """A list of arrays, or what went wrong, as text; then the process is replaced."""
        data = b""
        wanted = 8
        assert self.process.stdout is not None
        while len(data) < wanted:
            ready, _, _ = select.select([self.process.stdout], [], [], patience)
            part = os.read(self.process.stdout.fileno(), 1 << 20) if ready else b""
            if not part:
                how = "no answer" if not ready else f"ended with {self.process.wait()}"
                self.stop()
                self.start()
                return how
            data += part
            if wanted == 8 and len(data) >= 8:
                wanted += int.from_bytes(data[:8], "little")
        return pickle.loads(data[8:])

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def difference(ours: Any, theirs: Any) -> str | None:
    if isinstance(ours, str) or isinstance(theirs, str):
        told = [text if isinstance(text, str) else "ran" for text in (ours, theirs)]
        return None if told[0] == told[1] else f"kernels: {told[0]}; NumPy: {told[1]}"
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"result {i} is {a.dtype}{a.shape}, should be {b.dtype}{b.shape}"
        scale = np.abs(b[np.isfinite(b)]).max(initial=1.0)  # of numbers that cancel out only noise is left
        limit = scale * (1e-3 if a.dtype == np.float32 else 1e-9)
        with np.errstate(all="ignore"):
            wrong = ~((np.abs(a - b) <= limit) | (a == b) | (np.isnan(a) & np.isnan(b)))
        if wrong.any():
            return f"result {i} differs in {wrong.sum()} of {wrong.size} elements: {a[wrong][0]}, should be {b[wrong][0]}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--first", type=int, default=0, help="number of the first program")
    parser.add_argument("--only", type=int, help="run this program alone, and tell its steps")
    parser.add_argument("--patience", type=float, default=300, help="seconds to wait for one program")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        work()
        return 0
    if args.only is not None:
        import whygrad

        for x in program(whygrad, args.only, print):
            print(x.dtype, x.shape, x.ravel()[:4])
        return 0
    workers = [Worker("always"), Worker("0")]
    found, seed, end = 0, args.first, time.monotonic() + args.minutes * 60
    try:
        while time.monotonic() < end:
            for worker in workers:
                worker.ask(seed)
            problem = difference(*[worker.answer(args.patience) for worker in workers])
            if problem:
                found += 1
                print(f"program {seed}: {problem}", flush=True)
            seed += 1
    finally:
        for worker in workers:
            worker.stop()
    print(f"{seed - args.first} programs, {found} with differences")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
