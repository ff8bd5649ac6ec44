"""Two ranks with one thread each: all_reduce and DistributedDataParallel, whygrad on MPI against PyTorch on gloo and raw MPI.

`python -m benchmarks.distributed` prints times, their ratios, and the share of the communication that hides behind the backward.
`--json FILE` also writes what benchmarks/scaling.py reads.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SIZES = [1, 1 << 10, 1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22]  # elements of float32
ROUNDS = 3


def best(call: Callable[[], Any], barrier: Callable[[], Any], repeats: int) -> float:
    shortest = float("inf")
    for _ in range(repeats):
        barrier()
        began = time.perf_counter()
        call()
        shortest = min(shortest, time.perf_counter() - began)
    return shortest


def models(torch: Any) -> dict[str, tuple[Any, Any, Any]]:
    """Name -> model, input, target of one rank."""
    nn = torch.nn
    mlp = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))
    wide = nn.Sequential(nn.Linear(1024, 2048), nn.ReLU(), nn.Linear(2048, 1024))

    class GPT(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.tokens = nn.Embedding(256, 128)
            layer = nn.TransformerEncoderLayer(128, 4, 512, dropout=0.0, batch_first=True, norm_first=True)
            self.blocks = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
            self.head = nn.Linear(128, 256)

        def forward(self, x: Any) -> Any:
            mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1])
            return self.head(self.blocks(self.tokens(x), mask=mask, is_causal=True)).flatten(0, 1)

    return {"tiny": (nn.Linear(8, 8), torch.randn(2, 8), torch.randint(0, 8, (2,))),
            "mlp": (mlp, torch.randn(64, 784), torch.randint(0, 10, (64,))),
            "wide mlp": (wide, torch.randn(128, 1024), torch.randint(0, 1024, (128,))),
            "gpt": (GPT(), torch.randint(0, 256, (8, 64)), torch.randint(0, 256, (8 * 64,)))}


def measure(torch: Any, dist: Any, repeats: int) -> dict[str, Any]:
    """What one rank measures."""
    kinds = "all_reduce", "async", "raw", "step", "local", "alone", "scale", "bytes"
    found: dict[str, Any] = {kind: {} for kind in kinds}
    raw = raw_mpi() if torch.__name__ == "whygrad" else None
    for size in SIZES:
        x = torch.zeros(size)
        times = max(5, min(200, (1 << 22) // size))
        found["all_reduce"][4 * size] = best(lambda x=x: dist.all_reduce(x), dist.barrier, times)  # type: ignore[misc]
        found["async"][4 * size] = best(lambda x=x: dist.all_reduce(x, async_op=True).wait(), dist.barrier, times)  # type: ignore[misc]
        if raw is not None:
            found["raw"][4 * size] = best(lambda x=x: raw(x.numpy()), dist.barrier, times)  # type: ignore[misc]
            again = best(lambda x=x: dist.all_reduce(x), dist.barrier, times)  # type: ignore[misc]
            found["all_reduce"][4 * size] = min(again, found["all_reduce"][4 * size])
    for name, (model, x, y) in models(torch).items():
        wrapped = importlib.import_module(f"{torch.__name__}.nn.parallel").DistributedDataParallel(model)
        optimizer = torch.optim.AdamW(wrapped.parameters(), lr=1e-4)

        def step(call: Any, x: Any = x, y: Any = y, optimizer: Any = optimizer) -> None:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(call(x), y).backward()
            optimizer.step()

        for _ in range(5):
            step(wrapped)
        gradients = [p.grad for p in wrapped.parameters()]

        def local(wrapped: Any = wrapped, step: Any = step) -> None:
            with wrapped.no_sync():
                step(wrapped)

        def alone(gradients: Any = gradients) -> None:
            for work in [dist.all_reduce(g, async_op=True) for g in gradients]:
                work.wait()

        flat = torch.zeros(sum(g.numel() for g in gradients))
        found["scale"][name] = best(lambda flat=flat: flat.mul_(0.5), dist.barrier, repeats)  # type: ignore[misc]
        found["bytes"][name] = sum(4 * g.numel() for g in gradients)
        calls = [("step", lambda: step(wrapped)), ("local", local), ("alone", alone)]  # noqa: B023
        for kind, call in calls * 2:
            found[kind][name] = min(found[kind].get(name, 1e9), best(call, dist.barrier, repeats))
    return found


def raw_mpi() -> Callable[[Any], Any]:
    from mpi4py import MPI

    return lambda array: MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, array)


def rank(kind: str, path: str, repeats: int) -> None:
    torch: Any = importlib.import_module(kind)
    dist = importlib.import_module(f"{kind}.distributed")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("mpi" if kind == "whygrad" else "gloo")
    found = measure(torch, dist, repeats)
    if dist.get_rank() == 0:
        Path(path).write_text(json.dumps(found))
    dist.barrier()
    dist.destroy_process_group()


def run(kind: str, repeats: int) -> dict[str, Any]:
    """The measurements of two ranks of one library."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "src"), "MASTER_ADDR": "127.0.0.1",
                   "MASTER_PORT": "29877", "WORLD_SIZE": "2"}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "found.json"))
        command = [sys.executable, "-m", "benchmarks.distributed", "--rank", kind, path, str(repeats)]
        if kind == "whygrad":
            sys.path.insert(0, str(ROOT / "src"))
            from whygrad.distributed import launcher

            subprocess.run([launcher.find_mpiexec(), "-n", "2", *command], cwd=ROOT, check=True,
                           env=launcher.rank_environment(2, environment))
        else:
            ranks = [subprocess.Popen(command, cwd=ROOT, env={**environment, "RANK": str(i)}) for i in range(2)]
            codes = [process.wait() for process in ranks]
            assert codes == [0, 0]
        return {kind: {int(key) if key.isdigit() else key: value for key, value in row.items()}
                for kind, row in json.loads(Path(path).read_text()).items()}


def shortest(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    first = rounds[0]
    return {kind: {key: min(found[kind][key] for found in rounds) for key in first[kind]} for kind in first}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.distributed")
    parser.add_argument("--rank", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--json")
    options = parser.parse_args()
    if options.rank:
        kind, path, repeats = options.rank
        rank(kind, path, int(repeats))
        return
    both: dict[str, list[dict[str, Any]]] = {"whygrad": [], "torch": []}
    for _ in range(options.rounds):
        for kind, rounds in both.items():
            rounds.append(run(kind, options.repeats))
    ours, theirs = shortest(both["whygrad"]), shortest(both["torch"])
    print(f"{'all_reduce':>12} {'whygrad':>10} {'raw MPI':>10} {'gloo':>10}   / raw  / gloo   (microseconds)")
    for size, mine in ours["all_reduce"].items():
        raw, gloo = ours["raw"][size], theirs["all_reduce"][size]
        print(f"{size:>10} B {mine * 1e6:10.1f} {raw * 1e6:10.1f} {gloo * 1e6:10.1f}  {mine / raw:6.2f} {mine / gloo:7.2f}")
    print(f"{'DDP step':>12} {'whygrad':>10} {'gloo':>10} {'/ gloo':>8} {'local':>9} {'all_reduce':>11} {'hidden':>8}   "
          "(milliseconds)")
    for name, mine in ours["step"].items():
        hidden = 1 - (mine - ours["local"][name]) / ours["alone"][name]
        print(f"{name:>12} {mine * 1e3:10.2f} {theirs['step'][name] * 1e3:10.2f} {mine / theirs['step'][name]:8.2f} "
              f"{ours['local'][name] * 1e3:9.2f} {ours['alone'][name] * 1e3:11.2f} {hidden:8.0%}")
    if options.json:
        Path(options.json).write_text(json.dumps({"whygrad": ours, "torch": theirs}, indent=1))


if __name__ == "__main__":
    main()
