"""Samplers, splits and datasets give what torch gives: same order from the same seed, same errors."""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import torch.utils.data
from oracle import assert_same, outcome

import whygrad
import whygrad.utils.data

SIDES = (torch, whygrad)


def values(x: Any) -> Any:
    """Tensors as lists, everything else as it is."""
    if isinstance(x, (torch.Tensor, whygrad.Tensor)):
        return str(x.dtype), tuple(x.shape), np.asarray(x).tolist()
    if isinstance(x, dict):
        return type(x).__name__, {k: values(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x).__name__, [values(v) for v in x]
    return x


def both(program: Callable[[Any, Any], Any]) -> None:
    """`program(torch, torch.utils.data)` has the same outcome on both sides, and so has the generator."""
    outcomes = []
    for side in SIDES:
        side.manual_seed(5)
        random.seed(5)
        kind, result = outcome(lambda side=side: program(side, side.utils.data))
        outcomes.append((kind, values(result), np.asarray(side.get_rng_state()).tolist()))
    assert outcomes[0][:2] == outcomes[1][:2]
    assert outcomes[0][2] == outcomes[1][2], "the generator has gone another way"


SAMPLERS: dict[str, Callable[[Any, Any], Any]] = {
    "sequential": lambda t, d: list(d.SequentialSampler(range(7))),
    "random": lambda t, d: list(d.RandomSampler(range(50))),
    "random twice": lambda t, d: [list(s) for s in [d.RandomSampler(range(9))] * 2],
    "random fewer": lambda t, d: list(d.RandomSampler(range(50), num_samples=20)),
    "random more": lambda t, d: list(d.RandomSampler(range(5), num_samples=17)),
    "random generator": lambda t, d: list(d.RandomSampler(range(50), generator=t.Generator().manual_seed(3))),
    "replacement": lambda t, d: list(d.RandomSampler(range(50), replacement=True)),
    "replacement many": lambda t, d: list(d.RandomSampler(range(10), replacement=True, num_samples=100)),
    "replacement 64": lambda t, d: list(d.RandomSampler(range(10), replacement=True, num_samples=64)),
    "replacement generator": lambda t, d: list(d.RandomSampler(range(10), True, 40, t.Generator().manual_seed(1))),
    "generator twice": lambda t, d: [
        list(s) for s in [d.RandomSampler(range(9), generator=t.Generator().manual_seed(1))] * 3
    ],
    "subset": lambda t, d: list(d.SubsetRandomSampler([5, 3, 9, 1, 0])),
    "subset generator": lambda t, d: list(d.SubsetRandomSampler(range(20), t.Generator().manual_seed(2))),
    "weighted": lambda t, d: list(d.WeightedRandomSampler([0.1, 0.9, 0.4, 0.7, 3.0, 0.6], 12)),
    "weighted once": lambda t, d: list(d.WeightedRandomSampler([0.9, 0.4, 0.05, 0.2, 0.3, 0.1], 5, replacement=False)),
    "weighted generator": lambda t, d: list(
        d.WeightedRandomSampler([1.0, 2.0], 9, generator=t.Generator().manual_seed(2))
    ),
    "weights": lambda t, d: d.WeightedRandomSampler([1, 2], 3).weights,
    "batch": lambda t, d: list(d.BatchSampler(d.SequentialSampler(range(10)), 3, False)),
    "batch drop": lambda t, d: list(d.BatchSampler(range(10), 3, True)),
    "batch of random": lambda t, d: list(d.BatchSampler(d.RandomSampler(range(10)), 4, False)),
    "lengths": lambda t, d: [len(d.BatchSampler(range(10), 3, drop)) for drop in (True, False)],
    "split": lambda t, d: [s.indices for s in d.random_split(range(10), [3, 7])],
    "split fractions": lambda t, d: [s.indices for s in d.random_split(range(11), [0.3, 0.3, 0.4])],
    "split generator": lambda t, d: [
        s.indices for s in d.random_split(range(10), [5, 5], t.Generator().manual_seed(42))
    ],
    "split nothing": lambda t, d: [len(s) for s in d.random_split(range(2), [0.5, 0.25, 0.25])],
}

WRONG: dict[str, Callable[[Any, Any], Any]] = {
    "replacement": lambda t, d: d.RandomSampler(range(5), replacement=1),
    "samples": lambda t, d: d.RandomSampler(range(5), num_samples=0),
    "samples float": lambda t, d: d.RandomSampler(range(5), num_samples=2.0),
    "empty": lambda t, d: d.RandomSampler([]),
    "weighted samples": lambda t, d: d.WeightedRandomSampler([1.0], True),
    "weighted replacement": lambda t, d: d.WeightedRandomSampler([1.0], 1, 1),
    "weighted shape": lambda t, d: d.WeightedRandomSampler([[1.0]], 1),
    "weighted too many": lambda t, d: list(d.WeightedRandomSampler([1.0], 2, False)),
    "batch size": lambda t, d: d.BatchSampler(range(3), 0, False),
    "batch size bool": lambda t, d: d.BatchSampler(range(3), True, False),
    "drop last": lambda t, d: d.BatchSampler(range(3), 1, 0),
    "abstract": lambda t, d: iter(d.Sampler()),
    "split sum": lambda t, d: d.random_split(range(10), [3, 3]),
    "split fraction": lambda t, d: d.random_split(range(10), [1.5, -0.5]),
    "dataset": lambda t, d: d.Dataset()[0],
    "tensor sizes": lambda t, d: d.TensorDataset(t.zeros(2), t.zeros(3)),
    "stack nothing": lambda t, d: d.StackDataset(),
    "stack both": lambda t, d: d.StackDataset([1], a=[2]),
    "stack sizes": lambda t, d: d.StackDataset([1], [2, 3]),
    "concat nothing": lambda t, d: d.ConcatDataset([]),
    "concat stream": lambda t, d: d.ConcatDataset([d.ChainDataset([])]),
    "concat index": lambda t, d: d.ConcatDataset([[1, 2]])[-3],
    "concat beyond": lambda t, d: d.ConcatDataset([[1, 2]])[2],
    "chain of lists": lambda t, d: list(d.ChainDataset([[1]])),
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_samplers(name: str) -> None:
    both(SAMPLERS[name])


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name: str) -> None:
    both(WRONG[name])


def streams(data: Any, *lists: Any) -> list[Any]:
    def make(items: Any) -> Any:
        class Stream(data.IterableDataset):  # type: ignore[misc, name-defined]
            def __iter__(self) -> Any:
                return iter(items)

            def __len__(self) -> int:
                return len(items)

        return Stream()

    return [make(items) for items in lists]


DATASETS: dict[str, Callable[[Any, Any], Any]] = {
    "tensors": lambda t, d: [d.TensorDataset(t.arange(6).reshape(3, 2), t.ones(3))[i] for i in (0, 2, -1)],
    "tensors length": lambda t, d: len(d.TensorDataset(t.zeros(4, 2))),
    "tensors slice": lambda t, d: d.TensorDataset(t.arange(6))[1:3],
    "stack": lambda t, d: d.StackDataset([1, 2], "ab")[1],
    "stack dict": lambda t, d: d.StackDataset(a=[1, 2], b="ab").__getitems__([1, 0]),
    "stack items": lambda t, d: d.StackDataset([1, 2], d.Subset([7, 8, 9], [2, 1])).__getitems__([0, 1]),
    "concat": lambda t, d: [d.ConcatDataset([[1, 2], [3], [4, 5]])[i] for i in (0, 1, 2, 3, 4, -1, -5)],
    "add": lambda t, d: len(d.TensorDataset(t.zeros(2)) + d.TensorDataset(t.zeros(3))),
    "chain": lambda t, d: [list(x) for x in [d.ChainDataset(streams(d, [1, 2], "ab"))]],
    "chain add": lambda t, d: (lambda a, b: (list(a + b), len(a + b)))(*streams(d, [1], [2, 3])),
    "subset": lambda t, d: [d.Subset("abcdef", [5, 0, 3])[i] for i in range(3)],
    "subset of subset": lambda t, d: d.Subset(d.Subset("abcdef", [5, 0, 3]), [2, 0]).__getitems__([1, 0]),
    "subset list": lambda t, d: d.Subset(t.arange(10), [3, 1, 4])[[0, 2]],
}


@pytest.mark.parametrize("name", DATASETS)
def test_datasets(name: str) -> None:
    both(DATASETS[name])


class Point(NamedTuple):
    x: Any
    y: Any


BATCHES: dict[str, Callable[[Any], Any]] = {
    "integers": lambda t: [1, 2, 3],
    "booleans": lambda t: [True, False],
    "floats": lambda t: [1.0, 2.5],
    "texts": lambda t: ["a", "b"],
    "bytes": lambda t: [b"a", b"b"],
    "tensors": lambda t: [t.tensor([1.0, 2.0]), t.tensor([3.0, 4.0])],
    "scalars": lambda t: [t.tensor(1), t.tensor(2)],
    "arrays": lambda t: [np.zeros((2, 2), np.float32), np.ones((2, 2), np.float32)],
    "array scalars": lambda t: [np.float32(1), np.float32(2)],
    "array integers": lambda t: [np.int16(1), np.int16(2)],
    "tuples": lambda t: [(1, "a"), (2, "b")],
    "lists": lambda t: [[1, 2.0], [3, 4.0]],
    "dicts": lambda t: [{"x": 1, "y": t.zeros(2)}, {"x": 2, "y": t.ones(2)}],
    "ordered": lambda t: [OrderedDict(x=1), OrderedDict(x=2)],
    "named": lambda t: [Point(1, 2.0), Point(3, 4.0)],
    "deep": lambda t: [{"a": [(1, {"b": t.ones(1)})]}] * 3,
    "different sizes": lambda t: [t.zeros(3), t.zeros(2)],
    "different lengths": lambda t: [[1], [1, 2]],
    "objects": lambda t: [object()],
    "none": lambda t: [None],
    "text arrays": lambda t: [np.array("a")],
    "nothing": lambda t: [],
}


@pytest.mark.parametrize("name", BATCHES)
def test_collate(name: str) -> None:
    both(lambda t, d: d.default_collate(BATCHES[name](t)))


@pytest.mark.parametrize("name", [name for name in BATCHES if name != "objects"])
def test_convert(name: str) -> None:
    both(lambda t, d: d.default_convert(BATCHES[name](t)))


def test_collate_map_can_be_extended() -> None:
    from whygrad.utils.data.collate import collate, default_collate_fn_map

    class Word(str):
        pass

    mapping = {**default_collate_fn_map, Word: lambda batch, *, collate_fn_map=None: "+".join(batch)}
    assert collate([{"w": Word("a")}, {"w": Word("b")}], collate_fn_map=mapping) == {"w": "a+b"}


def test_gradients_flow_through_a_batch() -> None:
    def program(t: Any) -> Any:
        x = t.ones(2, requires_grad=True)
        t.utils.data.default_collate([x, x * 2]).sum().backward()
        return x.grad

    assert_same(program(torch), program(whygrad))


@pytest.mark.parametrize("count", [1, 10, 12])
@pytest.mark.parametrize("replicas", [1, 3, 4])
@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("drop_last", [True, False])
def test_distributed_sampler(count: int, replicas: int, shuffle: bool, drop_last: bool) -> None:
    def orders(lib: Any, data: Any) -> Any:
        found = []
        for rank in range(replicas):
            sampler = data.distributed.DistributedSampler(range(count), replicas, rank, shuffle, 3, drop_last)
            for epoch in (0, 1):
                sampler.set_epoch(epoch)
                found.append((len(sampler), list(sampler)))
        return found

    both(orders)


def test_distributed_sampler_refuses() -> None:
    both(lambda lib, data: data.DistributedSampler(range(3), 2, 2))
    both(lambda lib, data: data.DistributedSampler(range(3), 2, -1))
    both(lambda lib, data: data.DistributedSampler(range(3)))  # there is no process group
