"""DataLoader: the same batches as torch's from the same seed, and workers that fail loudly and never hang."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.utils.data
from oracle import outcome
from squares import Squares
from test_samplers import both, streams, values

import whygrad
import whygrad.utils.data
from whygrad.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

LOADERS: dict[str, Callable[[Any, Any], Any]] = {
    "plain": lambda t, d: list(d.DataLoader(t.arange(10))),
    "batches": lambda t, d: list(d.DataLoader(t.arange(10), batch_size=4)),
    "drop last": lambda t, d: list(d.DataLoader(t.arange(10), batch_size=4, drop_last=True)),
    "shuffle": lambda t, d: list(d.DataLoader(t.arange(20), batch_size=6, shuffle=True)),
    "shuffle thrice": lambda t, d: [list(x) for x in [d.DataLoader(t.arange(9), 4, True)] * 3],
    "generator": lambda t, d: [
        list(x) for x in [d.DataLoader(t.arange(9), 4, True, generator=t.Generator().manual_seed(1))] * 2
    ],
    "after it": lambda t, d: (list(d.DataLoader(t.arange(9), 4, True)), t.rand(3)),
    "unfinished": lambda t, d: (next(iter(d.DataLoader(t.arange(9), 4, True))), t.rand(3)),
    "begun": lambda t, d: (iter(d.DataLoader(t.arange(9), 4, True)) and None, t.rand(3)),
    "dataset": lambda t, d: list(
        d.DataLoader(d.TensorDataset(t.arange(10.0), t.arange(10)), batch_size=3, shuffle=True)
    ),
    "subset of dataset": lambda t, d: list(d.DataLoader(d.Subset(d.TensorDataset(t.arange(10.0)), [7, 2, 5]), 2)),
    "dataset beyond": lambda t, d: list(d.DataLoader(d.TensorDataset(t.arange(3)), 2, sampler=[0, 5])),
    "dataset behind": lambda t, d: list(d.DataLoader(d.TensorDataset(t.arange(3), t.ones(3, 2)), 2, sampler=[-1, 0])),
    "dataset gradient": lambda t, d: next(
        iter(d.DataLoader(d.TensorDataset(t.ones(3, 2, requires_grad=True)), 2))
    )[0].grad_fn.name(),
    "no batches": lambda t, d: list(d.DataLoader(np.arange(6.0).reshape(3, 2), batch_size=None)),
    "sampler": lambda t, d: list(d.DataLoader(t.arange(10), 4, sampler=d.SubsetRandomSampler(range(5)))),
    "list sampler": lambda t, d: list(d.DataLoader(t.arange(10), 2, sampler=[1, 5, 3])),
    "batch sampler": lambda t, d: list(d.DataLoader(t.arange(10), batch_sampler=[[1, 2], [3]])),
    "weighted": lambda t, d: list(d.DataLoader(t.arange(4), 3, sampler=d.WeightedRandomSampler([1, 2, 3, 4], 8))),
    "collate": lambda t, d: list(d.DataLoader(range(5), 2, collate_fn=tuple)),
    "split": lambda t, d: [list(d.DataLoader(s, 3, True)) for s in d.random_split(t.arange(12), [0.5, 0.5])],
    "lengths": lambda t, d: [
        len(d.DataLoader(range(10), n, drop_last=drop)) for n in (1, 3, 10, 11) for drop in (True, False)
    ],
    "iterator length": lambda t, d: len(iter(d.DataLoader(range(10), 3))),
    "stream": lambda t, d: list(d.DataLoader(streams(d, range(7))[0], batch_size=3)),
    "stream drop": lambda t, d: list(d.DataLoader(streams(d, range(7))[0], batch_size=3, drop_last=True)),
    "stream no batches": lambda t, d: list(d.DataLoader(streams(d, range(3))[0], batch_size=None)),
    "stream length": lambda t, d: len(d.DataLoader(streams(d, range(7))[0], batch_size=3)),
    "attributes": lambda t, d: (
        lambda x: (
            x.batch_size,
            x.drop_last,
            x.num_workers,
            x.prefetch_factor,
            type(x.sampler).__name__,
            type(x.batch_sampler).__name__,
        )
    )(d.DataLoader(range(3), 2, True)),
    "wrong workers": lambda t, d: d.DataLoader([], num_workers=-1),
    "wrong timeout": lambda t, d: d.DataLoader([], timeout=-1),
    "wrong prefetch": lambda t, d: d.DataLoader([], prefetch_factor=2),
    "negative prefetch": lambda t, d: d.DataLoader([], num_workers=1, prefetch_factor=-2),
    "wrong persistence": lambda t, d: d.DataLoader([], persistent_workers=True),
    "wrong context": lambda t, d: d.DataLoader([], num_workers=1, multiprocessing_context="thread"),
    "wrong context type": lambda t, d: d.DataLoader([], num_workers=1, multiprocessing_context=3),
    "context without workers": lambda t, d: d.DataLoader([], multiprocessing_context="fork"),
    "stream shuffle": lambda t, d: d.DataLoader(streams(d, [])[0], shuffle=True),
    "stream sampler": lambda t, d: d.DataLoader(streams(d, [])[0], sampler=3),
    "stream batch sampler": lambda t, d: d.DataLoader(streams(d, [])[0], batch_sampler=3),
    "sampler and shuffle": lambda t, d: d.DataLoader([1], shuffle=True, sampler=[0]),
    "batch sampler and size": lambda t, d: d.DataLoader([1], 2, batch_sampler=[[0]]),
    "no batches, drop last": lambda t, d: d.DataLoader([1], None, drop_last=True),
    "empty shuffle": lambda t, d: d.DataLoader([], shuffle=True),
    "batch size": lambda t, d: d.DataLoader([1], 0),
    "assignment": lambda t, d: setattr(d.DataLoader([1]), "batch_size", 3),
    "single timeout": lambda t, d: iter(d.DataLoader([1], timeout=1)),
    "error in dataset": lambda t, d: list(d.DataLoader([1, 2], sampler=[5])),
}


@pytest.mark.parametrize("name", LOADERS)
def test_same_as_torch(name: str) -> None:
    both(LOADERS[name])


class Behaving(Dataset):  # type: ignore[type-arg]
    """A dataset that does something bad at index 5."""

    def __init__(self, bad: str) -> None:
        self.bad = bad

    def __len__(self) -> int:
        return 12

    def __getitem__(self, i: int) -> Any:
        if i == 5:
            if self.bad == "raise":
                raise ValueError("five is bad")
            if self.bad == "key":
                raise KeyError("five")
            if self.bad == "arguments":
                raise UnicodeDecodeError("utf-8", b"x", 0, 1, "bad")
            if self.bad == "stop":
                raise StopIteration
            if self.bad == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.bad == "exit":
                os._exit(3)
            if self.bad == "hang":
                time.sleep(60)
            if self.bad == "unpicklable":
                return lambda: None
            if self.bad == "of a local class":
                class Local(Exception):
                    pass

                raise Local("five is bad")
            if self.bad == "sys.exit":
                sys.exit(4)
            if self.bad == "interrupt":
                raise KeyboardInterrupt
        return i


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_give_the_same_batches_in_the_same_order(method: str) -> None:
    expected = [values(b) for b in DataLoader(Squares(), 3, generator=whygrad.Generator().manual_seed(1), shuffle=True)]
    loader: DataLoader[Any] = DataLoader(
        Squares(), 3, True, generator=whygrad.Generator().manual_seed(1), num_workers=2, multiprocessing_context=method
    )
    assert [values(b) for b in loader] == expected


def test_persistent_workers_and_early_ends() -> None:
    loader: DataLoader[Any] = DataLoader(range(10), 2, num_workers=2, persistent_workers=True)
    for _ in range(3):
        for batch in loader:
            assert values(batch)[2] == [0, 1]
            break
    pids = {p.pid for p in loader._iterator.workers.processes}  # type: ignore[union-attr]
    assert [values(b)[2] for b in loader] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    assert pids == {p.pid for p in loader._iterator.workers.processes}  # type: ignore[union-attr]
    loader._iterator.close()  # type: ignore[union-attr]


def test_an_unfinished_pass_ends_its_workers() -> None:
    iterator = iter(DataLoader(range(1000), 2, num_workers=2))
    next(iterator)
    processes = iterator.workers.processes  # type: ignore[attr-defined]
    started = time.monotonic()
    del iterator
    assert not any(p.is_alive() for p in processes)
    assert time.monotonic() - started < 4


def test_large_batches_go_through() -> None:
    """Larger than any buffer of a pipe, in both directions."""

    class Rows(Squares):
        def __getitems__(self, indices: list[int]) -> Any:
            return [whygrad.from_numpy(np.array(indices))]

    indices = list(range(300_000))
    for batch in DataLoader(Rows(), batch_sampler=[indices] * 10, num_workers=2):
        assert batch.shape == (1, 300_000)


class Worker(Dataset):  # type: ignore[type-arg]
    """Says by what seeds and numbers a worker is known."""

    def __init__(self, side: Any) -> None:
        self.side = side.__name__

    def __len__(self) -> int:
        return 4

    def __getitem__(self, i: int) -> Any:
        side = sys.modules[self.side]
        info = side.utils.data.get_worker_info()
        return info.id, info.num_workers, info.seed, random.random(), float(np.random.rand()), side.rand(1).item()


def test_workers_are_seeded_as_torchs() -> None:
    seen = []
    for side in (torch, whygrad):
        side.manual_seed(3)
        seen.append(list(side.utils.data.DataLoader(Worker(side), batch_size=None, num_workers=2)))
    assert seen[0] == seen[1]
    assert get_worker_info() is None


def test_init_function() -> None:
    def init(worker: int) -> None:
        info = get_worker_info()
        assert info is not None
        info.dataset.length = 100 + worker

    class Told(Squares):
        def __getitem__(self, i: int) -> Any:
            return self.length

    assert list(DataLoader(Told(4), None, num_workers=2, worker_init_fn=init)) == [100, 101, 100, 101]


class Split(IterableDataset):  # type: ignore[type-arg]
    def __init__(self, lengths: list[int]) -> None:
        self.lengths = lengths

    def __iter__(self) -> Any:
        info = get_worker_info()
        worker = 0 if info is None else info.id
        return iter(range(100 * worker, 100 * worker + self.lengths[worker]))


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([3, 3], [[0, 1], [100, 101], [2], [102]]),
        ([5, 1], [[0, 1], [100], [2, 3], [4]]),
        ([0, 4], [[100, 101], [102, 103]]),
        ([0, 0], []),
    ],
)
def test_streams_in_workers(lengths: list[int], expected: Any) -> None:
    assert [values(b)[2] for b in DataLoader(Split(lengths), 2, num_workers=2)] == expected


@pytest.mark.parametrize(
    ("bad", "kind", "words"),
    [
        ("raise", ValueError, "five is bad"),
        ("key", KeyError, "five"),
        ("arguments", RuntimeError, "Caught UnicodeDecodeError"),
        ("unpicklable", AttributeError, "pickle"),
        ("of a local class", RuntimeError, "Caught Local in DataLoader worker process 0"),
    ],
)
def test_an_error_in_a_worker_comes_with_its_traceback(bad: str, kind: type[Exception], words: str) -> None:
    iterator = iter(DataLoader(Behaving(bad), 2, num_workers=2, collate_fn=list))
    assert [next(iterator), next(iterator)] == [[0, 1], [2, 3]]
    with pytest.raises(kind) as caught:
        next(iterator)
    text = str(caught.value)
    assert "in DataLoader worker process 0.\nOriginal Traceback (most recent call last):" in text
    assert words in text
    assert next(iterator) == [6, 7]


def test_an_error_in_a_worker_reads_as_torchs() -> None:
    texts = []
    for side in (torch, whygrad):
        loader = side.utils.data.DataLoader(Behaving("raise"), 2, num_workers=1, collate_fn=list)
        kind, (name, line) = outcome(lambda loader=loader: list(loader))
        texts.append((kind, name, line))
    assert texts[0] == texts[1]


def test_an_error_when_a_worker_begins() -> None:
    def init(worker: int) -> None:
        raise ValueError(f"not today {worker}")

    with pytest.raises(ValueError, match="not today"):
        list(DataLoader(range(4), num_workers=2, worker_init_fn=init))


@pytest.mark.parametrize(("bad", "note"), [("kill", "SIGKILL"), ("exit", "exit code is 3"), ("sys.exit", "exit code is 4"),
                                           ("interrupt", "exit code is 0")])
def test_a_worker_that_dies_is_an_error(bad: str, note: str) -> None:
    iterator = iter(DataLoader(Behaving(bad), 2, num_workers=2, collate_fn=list))
    pid = iterator.workers.processes[0].pid  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError) as caught:
        list(iterator)
    assert str(caught.value) == f"DataLoader worker (pid(s) {pid}) exited unexpectedly"
    assert note in caught.value.__notes__[0]
    with pytest.raises(StopIteration):
        next(iterator)


def test_a_worker_killed_from_outside_is_an_error() -> None:
    iterator = iter(DataLoader(Behaving("hang"), 2, num_workers=2, collate_fn=list))
    assert next(iterator) == [0, 1]
    os.kill(iterator.workers.processes[0].pid, signal.SIGKILL)  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(iterator)


def test_timeout() -> None:
    started = time.monotonic()
    with pytest.raises(RuntimeError, match="DataLoader timed out after 1 seconds"):
        list(DataLoader(Behaving("hang"), 2, num_workers=1, timeout=1))
    assert time.monotonic() - started < 20


def test_workers_end_when_the_program_is_killed() -> None:
    program = (
        "import sys, time\nfrom whygrad.utils.data import DataLoader\n"
        "it = iter(DataLoader(range(10**6), 2, num_workers=2))\nnext(it)\n"
        "print(*[p.pid for p in it.workers.processes], flush=True)\ntime.sleep(60)\n"
    )
    source = str(Path(whygrad.__file__).parents[1])
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": source}
    )
    assert child.stdout is not None
    with child.stdout:
        pids = [int(pid) for pid in child.stdout.readline().split()]
    child.kill()
    child.wait()
    deadline = time.monotonic() + 20
    while any(
        Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2] for pid in pids
    ):
        assert time.monotonic() < deadline, "a worker outlives its program"
        time.sleep(0.1)


def test_warnings() -> None:
    with pytest.warns(UserWarning, match="excessive worker creation"):
        DataLoader([1], num_workers=1000)
    with pytest.warns(UserWarning, match="no accelerator is found"):
        list(DataLoader([1], pin_memory=True))
    stream = streams(whygrad.utils.data, [1, 2, 3])[0]
    type(stream).__len__ = lambda self: 1
    loader: DataLoader[Any] = DataLoader(stream)
    len(loader)
    with pytest.warns(UserWarning, match="Length of IterableDataset"):
        list(loader)


class TooLong(IterableDataset):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        return iter(range(3))

    def __len__(self) -> int:
        return 2


def test_workers_that_all_load_everything() -> None:
    texts = []
    for data in (torch.utils.data, whygrad.utils.data):
        kind = type("TooLong", (data.IterableDataset,), {"__iter__": TooLong.__iter__, "__len__": TooLong.__len__})  # type: ignore[attr-defined]
        loader = data.DataLoader(kind(), batch_size=None, num_workers=1)  # type: ignore[attr-defined]
        len(loader)
        iterator = iter(loader)
        texts.append([loader._auto_collation, [process.is_alive() for process in iterator._workers]])
        with pytest.warns(UserWarning, match="Length of IterableDataset") as caught:
            list(iterator)
        texts[-1].append(str(caught[0].message).partition("reported")[2])
    assert texts[0] == texts[1]


def test_no_processes_are_left() -> None:
    deadline = time.monotonic() + 30
    while multiprocessing.active_children() and time.monotonic() < deadline:
        gc.collect()  # a loader that a caught exception still refers to
        time.sleep(0.05)
    assert not multiprocessing.active_children()
