"""DataLoader: batches of a dataset, loaded in this process or by worker processes."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NoReturn, TypeVar

from whygrad.base.errors import warn
from whygrad.base.platforms import IS_WEBASSEMBLY
from whygrad.random import Generator
from whygrad.utils.data.collate import default_collate, default_convert
from whygrad.utils.data.dataset import Dataset, IterableDataset
from whygrad.utils.data.fetch import MakeFetcher, _DatasetKind
from whygrad.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, draw_seed
from whygrad.utils.data.worker import Failure, StreamEnded, Workers, get_worker_info
from whygrad.why import record as why

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T_co = TypeVar("T_co", covariant=True)

_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _InfiniteConstantSampler(Sampler[None]):
    """The sampler of an IterableDataset, which ignores indices."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class DataLoader(Generic[T_co]):
    """Iterates over a dataset in batches.

    With `num_workers`, worker processes load the batches, in the same order. `pin_memory` is accepted and has no effect.
    """

    def __init__(self, dataset: Dataset[T_co], batch_size: int | None = 1, shuffle: bool | None = None,
                 sampler: Sampler[Any] | Iterable[Any] | None = None,
                 batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None, num_workers: int = 0,
                 collate_fn: Callable[[Any], Any] | None = None, pin_memory: bool = False, drop_last: bool = False,
                 timeout: float = 0, worker_init_fn: Callable[[int], None] | None = None,
                 multiprocessing_context: Any = None, generator: Generator | None = None, *,
                 prefetch_factor: int | None = None, persistent_workers: bool = False, pin_memory_device: str = "",
                 in_order: bool = True) -> None:
        self._initialized = False
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        streams = isinstance(dataset, IterableDataset)
        _check_sampling(streams, batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size = None
        if sampler is None:
            if streams:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)  # type: ignore[arg-type]
            else:
                sampler = SequentialSampler(dataset)  # type: ignore[arg-type]
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)  # type: ignore[arg-type]
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        default = default_convert if batch_sampler is None else default_collate
        self.collate_fn = default if collate_fn is None else collate_fn
        self.persistent_workers = persistent_workers
        self._initialized = True
        self._claimed_length: int | None = None
        self._iterator: _MultiProcessingDataLoaderIter | None = None
        self._warn_of_many_workers()

    def __setattr__(self, attr: str, value: Any) -> None:
        if attr in _FIXED and self.__dict__.get("_initialized"):
            raise ValueError(f"{attr} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(attr, value)

    @property
    def multiprocessing_context(self) -> Any:
        return self._multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            context = _read_context(context, self.num_workers)
        self._multiprocessing_context = context

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _dataset_kind(self) -> int:
        return _DatasetKind.Iterable if isinstance(self.dataset, IterableDataset) else _DatasetKind.Map

    def __iter__(self) -> _BaseDataLoaderIter:
        why.tell("iterated", self)
        if not self.num_workers or not self._can_start_workers():
            return _SingleProcessDataLoaderIter(self)
        if not self.persistent_workers:
            return _MultiProcessingDataLoaderIter(self)
        if self._iterator is None or self._iterator.workers is None:
            self._iterator = _MultiProcessingDataLoaderIter(self)
        else:
            self._iterator.begin(self)
        return self._iterator

    @staticmethod
    def _can_start_workers() -> bool:
        if IS_WEBASSEMBLY:
            warn("There are no processes here: this DataLoader loads its batches in this one, as with num_workers=0.")
        return not IS_WEBASSEMBLY

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self._index_sampler)
        length = self._claimed_length = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_iterator": None}

    def check_worker_number_rationality(self) -> None:
        self._warn_of_many_workers()

    def _warn_of_many_workers(self) -> None:
        available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        if self.num_workers > available:
            unchecked = "" if hasattr(os, "sched_getaffinity") else " (`cpuset` is not taken into account)"
            warn(f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number "
                 f"of worker in current system is {available}{unchecked}, which is smaller than what this DataLoader "
                 "is going to create. Please be aware that excessive worker creation might get DataLoader running slow "
                 "or even freeze, lower the worker number to avoid potential slowness/freeze if necessary.")


def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError("prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to "
                         "enable multiprocessing, otherwise set prefetch_factor to None.")
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_sampling(streams: bool, batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any,
                    drop_last: bool) -> None:
    if streams:
        for name, value, wrong in (("shuffle", shuffle, shuffle not in (False, None)),
                                   ("sampler", sampler, sampler is not None),
                                   ("batch_sampler", batch_sampler, batch_sampler is not None)):
            if wrong:
                raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                                 f"{name}={value}")
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
    if batch_sampler is None and batch_size is None and drop_last:
        raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")


def _read_context(context: Any, num_workers: int) -> Any:
    if num_workers <= 0:
        raise ValueError("multiprocessing_context can only be used with multi-process loading (num_workers > 0), but "
                         f"got num_workers={num_workers}")
    if isinstance(context, str):
        methods = multiprocessing.get_all_start_methods()
        if context not in methods:
            raise ValueError(f"multiprocessing_context option should specify a valid start method in {methods!r}, but "
                             f"got multiprocessing_context={context!r}")
        context = multiprocessing.get_context(context)
    if not isinstance(context, multiprocessing.context.BaseContext):
        raise TypeError("multiprocessing_context option should be a valid context object or a string specifying the "
                        f"start method, but got multiprocessing_context={context}")
    return context


class _BaseDataLoaderIter:
    """One epoch."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        if loader.pin_memory:
            warn("'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be "
                 "used.")
        self.dataset = loader.dataset
        self.sampler = loader._index_sampler
        self.indices = iter(self.sampler)
        self.base_seed = draw_seed(loader.generator)
        self.make_fetcher = MakeFetcher(loader._dataset_kind, loader._auto_collation, loader.collate_fn, loader.drop_last)
        self.claimed_length = getattr(loader, "_claimed_length", None)  # loaders of other authors do not have it
        self.given = 0
        self.start(loader)

    # What else is said of more samples than there should be.
    hint = ""

    def start(self, loader: DataLoader[Any]) -> None:
        raise NotImplementedError

    def load(self) -> Any:
        raise NotImplementedError

    def __iter__(self) -> _BaseDataLoaderIter:
        return self

    def __next__(self) -> Any:
        data = self.load()
        self.given += 1
        if self.claimed_length is not None and self.given > self.claimed_length:
            warn(f"Length of IterableDataset {self.dataset} was reported to be {self.claimed_length}(when accessing "
                 f"len(dataloader)), but {self.given} samples have been fetched. {self.hint}")
        return data

    def __len__(self) -> int:
        return len(self.sampler)

    def __getstate__(self) -> NoReturn:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """One epoch, loaded in this process."""

    def start(self, loader: DataLoader[Any]) -> None:
        if loader.timeout:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        self.fetcher = self.make_fetcher(self.dataset)

    def load(self) -> Any:
        return self.fetcher.fetch(next(self.indices))


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Epochs loaded by workers. Results are returned in the order of the tasks."""

    hint = ("For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset replica at "
            "each worker. Please see https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples.")

    @property
    def _workers(self) -> list[Any]:
        """The processes, for programs that ask for them."""
        return [] if self.workers is None else self.workers.processes

    def start(self, loader: DataLoader[Any]) -> None:
        assert loader.prefetch_factor is not None
        if loader.prefetch_factor <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        self.count = loader.num_workers
        self.most_tasks = loader.prefetch_factor * self.count
        self.persistent = loader.persistent_workers
        self.in_order = getattr(loader, "in_order", True)
        self.epoch = -1
        self.workers: Workers | None = Workers(self.make_fetcher, self.dataset, self.count, self.base_seed,
                                               loader.worker_init_fn, loader.multiprocessing_context, loader.timeout)
        # A finalizer, because __del__ may run after the queues are gone if there is a reference cycle.
        self.finalizer = weakref.finalize(self, self.workers.close)
        self.begin(loader)

    def begin(self, loader: DataLoader[Any]) -> None:
        """Start an epoch. Pending results of the last one are recognised by their epoch and dropped."""
        assert self.workers is not None
        self.epoch += 1
        self.indices = iter(self.sampler)
        self.claimed_length = getattr(loader, "_claimed_length", None)
        self.given = 0
        self.active = [True] * self.count
        self.turn = itertools.cycle(range(self.count))
        self.sent = 0  # number of tasks sent
        self.next = 0  # the task whose result is returned next
        self.pending: dict[int, int] = {}  # task -> worker
        self.arrived: dict[int, Any] = {}  # task -> result
        if self.epoch:
            for worker in range(self.count):
                self.workers.put(worker, "resume")
        for _ in range(self.most_tasks):
            self.send_task()

    def send_task(self) -> None:
        if not any(self.active):
            return
        indices = next(self.indices, self)
        if indices is self:
            return
        worker = next(worker for worker in self.turn if self.active[worker])
        assert self.workers is not None
        self.workers.put(worker, ((self.epoch, self.sent), indices))
        self.pending[self.sent] = worker
        self.sent += 1

    def load(self) -> Any:
        if self.workers is None:
            raise StopIteration
        while True:
            while self.next < self.sent and self.next not in self.pending:
                self.next += 1  # arrived early
            if self.next == self.sent:
                if not self.persistent:
                    self.close()
                raise StopIteration
            task = self.next if self.in_order else next(iter(self.arrived), self.next)
            if task not in self.arrived:
                self.receive()
                continue
            data = self.hand_out(task)
            if not isinstance(data, StreamEnded):
                return data

    def receive(self) -> None:
        assert self.workers is not None
        try:
            (epoch, task), data = self.workers.get()
        except BaseException:
            self.workers.close(patience=0.1)
            self.close()
            raise
        if epoch == self.epoch:
            self.arrived[task] = data

    def hand_out(self, task: int) -> Any:
        """The result of a task; StreamEnded if the worker's stream is exhausted."""
        worker, data = self.pending.pop(task), self.arrived.pop(task)
        if not isinstance(data, StreamEnded):
            self.send_task()
        elif self.active[worker]:
            self.active[worker] = False
            self.send_task()
        if isinstance(data, Failure):
            data.raise_again()
        return data

    def close(self) -> None:
        self.finalizer()
        self.workers = None
