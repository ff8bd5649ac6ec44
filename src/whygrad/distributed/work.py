"""Work: the handle of a communication that has been begun. Waiting is polling, so that it can end with an explanation."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from whygrad.base.futures import Future
from whygrad.distributed import mpi
from whygrad.distributed.ledger import EAGER_POLLS, POLLS_BETWEEN_LOOKS, Ledger, offer_processor


class Running(set["Work"]):
    """Communications under way. MPI reads and writes their memory, which has to stay if the program drops the handle."""

    limit = 64  # from here on those that MPI is done with are looked for: nobody may wait for them

    def begin(self, work: Work) -> None:
        if len(self) > self.limit:
            for other in list(self):
                other.is_completed()
            self.limit = max(64, 2 * len(self))
        self.add(work)


_running = Running()


class Work:
    """A communication under way. `finish` puts its result in place, and is called once, when MPI is done."""

    def __init__(self, request: Any, ledger: Ledger, entry: int, call: tuple[Any, ...], seconds: float,
                 finish: Callable[[], Any] | None, outputs: list[Any], buffers: Any = None) -> None:
        self._request = request
        self._ledger = ledger
        self._entry = entry  # 0 for point-to-point
        self._call = call
        self._seconds = seconds
        self._finish = finish
        self._outputs = outputs
        self._buffers = buffers  # MPI reads and writes them
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Work], Any]] = []
        _running.begin(self)

    def wait(self, timeout: timedelta | None = None) -> bool:
        if self._request is not None:
            test = self._request.Test
            for _ in range(EAGER_POLLS):
                if test():
                    break
            else:
                self._wait_long(self._seconds if timeout is None else timeout.total_seconds())
            self._complete()
        if self._error is not None:
            raise self._error
        return True

    def _wait_long(self, seconds: float) -> None:
        test, ledger = self._request.Test, self._ledger
        deadline = time.monotonic() + seconds
        try:
            while True:
                for _ in range(POLLS_BETWEEN_LOOKS):
                    if test():
                        ledger.board.waiting = None
                        return
                    offer_processor()
                ledger.wait_on(self._entry, self._call, deadline, seconds)
        except BaseException as error:
            mpi.abandoned.append(self._buffers)
            mpi.abandoned.append(self._request)
            self._request, self._error = None, error
            _running.discard(self)
            raise

    def _complete(self) -> None:
        self._request = None
        _running.discard(self)
        if self._entry:
            self._ledger.check(self._entry, self._call)
        if self._finish is not None:
            self._finish()
        self._buffers = self._finish = None
        for callback in self._callbacks:
            callback(self)

    def is_completed(self) -> bool:
        if self._request is not None and self._request.Test():
            self._complete()
        return self._request is None

    def is_success(self) -> bool:
        return self.is_completed() and self._error is None

    def exception(self) -> BaseException | None:
        return self._error

    def result(self) -> list[Any]:
        self.wait()
        return self._outputs

    def synchronize(self) -> None:
        self.wait()

    def source_rank(self) -> int:
        raise RuntimeError("sourceRank() may only be called on work objects that correspond to a recv or recv-from-any call.")

    def get_future(self) -> Future:
        """A future that waits for this communication when its value is asked for."""
        return Future.of(self.result)


class Coalesced:
    """Several communications with one handle."""

    def __init__(self, works: list[Any]) -> None:
        self.works = works

    def wait(self, timeout: timedelta | None = None) -> bool:
        return all(work.wait(timeout) for work in self.works)

    def is_completed(self) -> bool:
        return all(work.is_completed() for work in self.works)

    def result(self) -> list[Any]:
        return [output for work in self.works for output in work.result()]

    def get_future(self) -> Future:
        return Future.of(self.result)
