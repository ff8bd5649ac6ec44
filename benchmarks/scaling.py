"""A small simulator of data-parallel training: `python -m benchmarks.scaling [--measured FILE]`.

A step is a forward and a backward. The gradients of a bucket are ready at their time of the backward, buckets are all-reduced one
after the other, and the step ends when backward and communication have ended. An all_reduce costs latency and bytes:

  ring  2 (p - 1) latencies, 2 (p - 1) / p of the bytes          tree  2 log2(p) latencies, 2 (p - 1) / p of the bytes

With FILE, from `python -m benchmarks.distributed --json FILE`, it first predicts the steps of two ranks that were measured there.
On one machine nothing overlaps: the processors that compute are those that copy.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from pathlib import Path
from typing import NamedTuple

BUCKET_BYTES = 25 << 20
RANKS = [1, 8, 32, 128, 512, 1024, 4096]


class Network(NamedTuple):
    name: str
    latency: float  # seconds for a message
    rate: float  # bytes in a second


class Model(NamedTuple):
    name: str
    parameters: float


# Assumed, not measured: what such networks usually reach between processes.
NETWORKS = [Network("Ethernet, 25 Gbit/s", 15e-6, 2.8e9), Network("InfiniBand, 200 Gbit/s", 2e-6, 22e9)]
MODELS = [Model("25 M", 25e6), Model("350 M", 350e6), Model("7 B", 7e9)]
STATE_BYTES = 16  # of a parameter: weight, gradient, and two moments of Adam
FLOPS = 4e12  # of a rank, sustained: a node of 64 cores


def all_reduce(size: float, ranks: int, network: Network, algorithm: str) -> float:
    """Seconds for one all_reduce."""
    if ranks == 1:
        return 0.0
    messages = 2 * (ranks - 1) if algorithm == "ring" else 2 * math.ceil(math.log2(ranks))
    return messages * network.latency + 2 * (ranks - 1) / ranks * size / network.rate


def quickest(size: float, ranks: int, network: Network) -> float:
    """By the better of both, as MPI chooses."""
    return min(all_reduce(size, ranks, network, algorithm) for algorithm in ("ring", "tree"))


def step(model: Model, tokens: int, ranks: int, network: Network) -> tuple[float, float]:
    """Seconds of a step with `ranks` ranks, and the share of the communication that is hidden behind the backward."""
    forward = 2 * model.parameters * tokens / FLOPS
    backward, size = 2 * forward, 4 * model.parameters
    buckets = max(1, round(size / BUCKET_BYTES))
    cost = quickest(size / buckets, ranks, network)
    ended = 0.0
    for i in range(buckets):
        ended = max(ended, forward + backward * (i + 1) / buckets) + cost
    total = max(ended, forward + backward)
    hidden = 1 - (total - forward - backward) / (buckets * cost) if cost else 1.0
    return total, hidden


def sharded(model: Model, tokens: int, ranks: int, network: Network) -> float:
    """A step whose weights, gradients and state are shared out: weights are gathered twice, gradients reduced and scattered."""
    local = 6 * model.parameters * tokens / FLOPS
    messages = 3 * 2 * math.ceil(math.log2(ranks)) if ranks > 1 else 0
    traffic = messages * network.latency + 3 * (ranks - 1) / ranks * 4 * model.parameters / network.rate
    return max(local, traffic) + traffic / 20  # the first gather and the last scatter have nothing to hide behind


def interpolated(table: dict[str, float], size: float) -> float:
    """The time for `size` bytes between the measured sizes."""
    points = sorted((int(key), value) for key, value in table.items())
    for (small, quick), (large, slow) in itertools.pairwise(points):
        if size <= large or large == points[-1][0]:
            return quick + (slow - quick) * (size - small) / (large - small)
    raise ValueError(size)


def check_prediction(path: str) -> None:
    """Two ranks of one machine: the local step, the communication, the averaging, and what a wrapped step costs besides."""
    found = json.loads(Path(path).read_text())["whygrad"]
    besides = found["step"]["tiny"] - found["local"]["tiny"]
    print(f"{'two ranks':>10} {'predicted':>10} {'measured':>10}   (milliseconds)")
    for name, size in found["bytes"].items():
        if name != "tiny":
            said = found["local"][name] + besides + interpolated(found["async"], size) + found["scale"][name]
            measured = found["step"][name]
            print(f"{name:>10} {said * 1e3:10.2f} {measured * 1e3:10.2f}   {said / measured - 1:+.0%}")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling")
    parser.add_argument("--measured", metavar="FILE")
    parser.add_argument("--tokens", type=int, default=1024, help="tokens (samples) of one rank in a step")
    options = parser.parse_args()
    if options.measured:
        check_prediction(options.measured)
    memory = ", ".join(f"{model.name}: {STATE_BYTES * model.parameters / 1e9:.1f} GB" for model in MODELS)
    print(f"memory of weights, gradients and Adam's state, which sharding divides by the ranks: {memory}\n")
    for network in NETWORKS:
        print(f"{network.name}, {options.tokens} tokens: efficiency of data-parallel (hidden communication) / of sharding")
        print(f"{'ranks':>8}" + "".join(f"{model.name:>22}" for model in MODELS))
        for ranks in RANKS:
            row = []
            for model in MODELS:
                local = step(model, options.tokens, 1, network)[0]
                total, hidden = step(model, options.tokens, ranks, network)
                shared_out = sharded(model, options.tokens, ranks, network)
                row.append(f"{local / total:.0%} ({max(hidden, 0):.0%}) / {local / shared_out:.0%}")
            print(f"{ranks:>8}" + "".join(f"{text:>22}" for text in row))
        print()


if __name__ == "__main__":
    main()
