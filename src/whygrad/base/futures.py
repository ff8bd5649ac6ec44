"""torch.futures: a value that is there later. There are no threads behind it: who waits computes, or communicates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Generic, TypeVar

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")


class Future(Generic[T]):
    """A value, or an error, that is set once; callbacks run then."""

    def __init__(self, *, devices: Any = None) -> None:
        self._produce: Callable[[], Any] | None = None
        self._is_done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[Any]], Any]] = []

    @classmethod
    def of(cls, produce: Callable[[], Any]) -> Future[Any]:
        """A future whose value is computed by the first wait()."""
        future: Future[Any] = cls()
        future._produce = produce
        return future

    def done(self) -> bool:
        return self._is_done

    def wait(self) -> Any:
        if not self._is_done:
            if self._produce is None:
                raise RuntimeError("this Future waits for a value that only its own thread could set")
            produce, self._produce = self._produce, None
            try:
                value = produce()
            except Exception as error:
                self.set_exception(error)
            else:
                if not self._is_done:  # a callback of what it waited for may have set it
                    self.set_result(value)
        return self.value()

    def value(self) -> Any:
        if not self._is_done:
            raise RuntimeError("Future hasn't completed")
        if self._error is not None:
            raise self._error
        return self._value

    def set_result(self, result: Any) -> None:
        if self._is_done:
            raise RuntimeError("Attempting to mark a completed Future as complete again.  Note that a Future can only be marked "
                               "completed once.")
        self._is_done, self._value = True, result
        self._run_callbacks()

    def set_exception(self, result: BaseException) -> None:
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._is_done, self._error = True, result
        self._run_callbacks()

    def _run_callbacks(self) -> None:
        while self._callbacks:
            self._callbacks.pop(0)(self)

    def add_done_callback(self, callback: Callable[[Future[Any]], Any]) -> None:
        if self._is_done:
            callback(self)
        else:
            self._callbacks.append(callback)

    def then(self, callback: Callable[[Future[Any]], Any]) -> Future[Any]:
        """A future for `callback(self)`, which is called when this one is done."""
        following: Future[Any] = Future()

        def run(self: Future[Any]) -> None:
            try:
                following.set_result(callback(self))
            except Exception as error:
                following.set_exception(error)

        self.add_done_callback(run)
        if not self._is_done:
            following._produce = self._settle
        return following

    def _settle(self) -> None:
        with suppress(Exception):  # the callback finds it in `value()`
            self.wait()


def collect_all(futures: Sequence[Future[Any]]) -> Future[Any]:
    """A future for the list of these futures, all done."""
    def settle() -> list[Future[Any]]:
        for future in futures:
            future._settle()
        return list(futures)

    return Future.of(settle)


def wait_all(futures: Sequence[Future[Any]]) -> list[Any]:
    return [future.wait() for future in futures]
