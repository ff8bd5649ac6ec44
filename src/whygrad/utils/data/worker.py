"""The worker processes of a DataLoader.

Each worker has its own queue for tasks and its own pipe for results, so that a killed worker corrupts nothing that the
others need: its pipe is closed, which the main process notices.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import queue
import random
import signal
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from whygrad.base.threads import choose_number_of_threads
from whygrad.random import manual_seed
from whygrad.utils.data.fetch import Fetcher

# Interval in seconds at which a waiting worker checks that its parent process is alive.
CHECK_INTERVAL = 2.0
# Seconds a worker may take to finish before it is terminated.
PATIENCE = 5.0


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """Information about the worker in which a dataset runs."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str = "multiprocessing"


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """In a worker: its id, seed and copy of the dataset. In the main process: None."""
    return _info


class StreamEnded:
    """Result of a worker whose IterableDataset has no more samples."""


class KeyErrorMessage(str):
    """KeyError shows its argument by repr, which makes a traceback unreadable."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Failure:
    """An exception of a worker, with its traceback as text."""

    def __init__(self, error: BaseException, worker: int) -> None:
        self.kind: type[BaseException] = type(error)
        self.name = self.kind.__name__
        self.where = f"in DataLoader worker process {worker}"
        self.text = "".join(traceback.format_exception(error))

    def raise_again(self) -> None:
        message: str = f"Caught {self.name} {self.where}.\nOriginal {self.text}"
        if self.kind is KeyError:
            message = KeyErrorMessage(message)
        try:
            error = self.kind(message)
        except Exception:
            raise RuntimeError(message) from None  # an exception class with another constructor signature
        raise error


class Workers:
    def __init__(self, make_fetcher: Callable[[Any], Fetcher], dataset: Any, count: int, base_seed: int, init: Any,
                 context: Any, timeout: float) -> None:
        context = context or multiprocessing.get_context()
        self.owner = os.getpid()
        self.closed = False
        self.timeout = timeout
        self.queues: list[Any] = []
        self.results: list[Any] = []
        self.processes: list[Any] = []
        for i in range(count):
            tasks = context.Queue()
            tasks.cancel_join_thread()
            receive, send = context.Pipe(duplex=False)
            arguments = (make_fetcher, dataset, tasks, send, base_seed, init, i, count)
            process = context.Process(target=work, args=arguments, daemon=True)
            try:
                process.start()
            except BaseException:
                self.close()  # the workers started so far
                raise
            send.close()  # so that the pipe is closed when the worker ends
            self.queues.append(tasks)
            self.results.append(receive)
            self.processes.append(process)

    def put(self, worker: int, task: Any) -> None:
        self.queues[worker].put(task)

    def get(self) -> Any:
        """The next result of any worker."""
        deadline = time.monotonic() + self.timeout if self.timeout > 0 else None
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready: Any = connection.wait(self.results, left)
            if not ready:
                raise RuntimeError(f"DataLoader timed out after {self.timeout:g} seconds")
            try:
                data = ready[0].recv_bytes()
            except (EOFError, OSError):
                raise self._death(self.results.index(ready[0])) from None
            return pickle.loads(data)

    def _death(self, worker: int) -> RuntimeError:
        process = self.processes[worker]
        process.join(PATIENCE)
        error = RuntimeError(f"DataLoader worker (pid(s) {process.pid}) exited unexpectedly")
        code = process.exitcode
        if code is not None and code < 0:
            error.add_note(f"It was killed by signal {-code} ({signal.Signals(-code).name}).")
        else:
            error.add_note(f"Its exit code is {code}.")
        return error

    def close(self, patience: float = PATIENCE) -> None:
        """Stop the workers, and terminate those that do not stop in time."""
        if self.closed or os.getpid() != self.owner:
            return  # or a copy of this object in a process that was forked later
        self.closed = True
        for receive in self.results:
            receive.close()  # a worker blocked in send gets an error
        for tasks in self.queues:
            tasks.put(None)
        deadline = time.monotonic() + patience
        for process in self.processes:
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.terminate()
                process.join(PATIENCE)
            if process.is_alive():
                process.kill()
                process.join()
        for tasks in self.queues:
            tasks.close()


def work(make_fetcher: Any, dataset: Any, tasks: Any, send: Any, base_seed: int, init: Any, worker: int,
         count: int) -> None:
    """The main loop of a worker: a task is (tag, indices), a result (tag, data); "resume" restarts the dataset."""
    global _info
    parent = os.getppid()
    try:
        choose_number_of_threads(1)  # the parallelism comes from the number of workers
        seed = base_seed + worker
        random.seed(seed)
        manual_seed(seed)
        np.random.seed(_generate_state(base_seed, worker))
        _info = WorkerInfo(worker, count, base_seed + worker, dataset)
        failure: Failure | None = None
        try:
            if init is not None:
                init(worker)
            fetcher = make_fetcher(dataset)
        except Exception as error:
            failure = Failure(error, worker)
        while True:
            try:
                task = tasks.get(timeout=CHECK_INTERVAL)
            except queue.Empty:
                if os.getppid() != parent:
                    return
                continue
            if task is None:
                return
            if task == "resume":
                fetcher = make_fetcher(dataset)
                continue
            tag, indices = task
            data: Any = _fetch(fetcher, indices, worker) if failure is None else failure
            send.send_bytes(_pickled(tag, data, worker))
    except (KeyboardInterrupt, BrokenPipeError):
        pass  # the main process ended or stopped the workers


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """A seed for NumPy, different from that of `random`, which has the same generator. Packages import it by this name."""
    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return np.random.SeedSequence(words).generate_state(4).tolist()


def _fetch(fetcher: Fetcher, indices: Any, worker: int) -> Any:
    try:
        return fetcher.fetch(indices)
    except StopIteration as error:
        return StreamEnded() if fetcher.streams else Failure(error, worker)
    except Exception as error:
        return Failure(error, worker)


def _pickled(tag: Any, data: Any, worker: int) -> Any:
    try:
        return ForkingPickler.dumps((tag, data), 5)
    except Exception as error:
        if isinstance(data, Failure):
            data.kind = RuntimeError  # a class that cannot be pickled, such as a local one
        else:
            data = Failure(error, worker)
        return ForkingPickler.dumps((tag, data), 5)
