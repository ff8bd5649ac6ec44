"""What the ranks of one machine show each other, in memory that they share: the collective each of them has entered, and where.

A collective costs one write and one look at the neighbour's cell. Only who waits for long looks at all, and asks: then every rank
writes down in words where it is, which its watchdog thread does for a rank that is not in a collective.
"""

from __future__ import annotations

import linecache
import mmap
import os
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from whygrad.base.frames import is_internal, is_of_standard_library
from whygrad.distributed.errors import DistBackendError

# Collectives of a group that are remembered: how far one rank may be ahead of another and still be compared.
REMEMBERED = 256
BLOCKING = 1  # the bit of an entry whose rank waits for the collective at once
RUNNING, FAILED, ENDED = 0, 1, 2
EAGER_POLLS = 200  # before the processor is offered to another process
POLLS_BETWEEN_LOOKS = 500
SLEEP_AFTER_SECONDS = 1.0
TEXT = 1024  # bytes of a rank's description
ANSWER_SECONDS = 2.0
WATCHDOG_SECONDS = 0.1


offer_processor: Callable[[], None] = getattr(os, "sched_yield", lambda: time.sleep(0))


def shared_memory(node: Any, size: int) -> mmap.mmap:
    """Memory of all processes of `node`, a communicator of one machine. It is freed with the last of them, however that ends."""
    path, descriptor = "", -1
    if node.rank == 0:
        folder = "/dev/shm" if os.path.isdir("/dev/shm") else None
        descriptor, path = tempfile.mkstemp(prefix="whygrad-ledger-", dir=folder)
        os.ftruncate(descriptor, size)
    path = node.bcast(path)
    if descriptor < 0:
        descriptor = os.open(path, os.O_RDWR)
    memory = mmap.mmap(descriptor, size)
    os.close(descriptor)
    node.Barrier()
    if node.rank == 0:
        os.unlink(path)
    return memory


class Fingerprints(dict[tuple[Any, ...], int]):
    """Collective call -> 32 bits that are the same in all processes; the lowest is free for BLOCKING."""

    def __missing__(self, call: tuple[Any, ...]) -> int:
        self[call] = value = zlib.crc32(repr(call).encode()) & ~BLOCKING
        return value


fingerprints = Fingerprints()


class Board:
    """The state of each process of this machine (running, failed, ended), and where it is, if somebody asks."""

    def __init__(self, node: Any, rank: int) -> None:
        self.rank = rank
        self.ranks: list[int] = node.allgather(rank)
        self.place: int = node.rank
        count = len(self.ranks)
        self._memory = shared_memory(node, 8 * (1 + 2 * count) + TEXT * count)
        cells = memoryview(self._memory)[:8 * (1 + 2 * count)].cast("Q")
        self._asked, self._states, self._answered = cells[:1], cells[1:1 + count], cells[1 + count:]
        self._texts = memoryview(self._memory)[8 * (1 + 2 * count):]
        self.waiting: Callable[[], str] | None = None  # describes the collective that the main thread waits for
        self._main = threading.main_thread().ident or 0
        self._parent = os.getppid()
        threading.Thread(target=self._watch, daemon=True, name="whygrad-watchdog").start()

    def rename(self, node_ranks: list[int], rank: int) -> None:
        """The ranks by which the processes of this machine are known from now on."""
        self.rank, self.ranks = rank, node_ranks

    def stand(self, call: tuple[Any, ...]) -> None:
        """From now on this process answers that it is in this collective, called in the current line."""
        text = f"is in {where(sys._getframe(1))}, which is {described(call)}"
        self.waiting = lambda: text

    def set_state(self, state: int) -> None:
        self._states[self.place] = state

    def state(self, rank: int) -> int:
        return self._states[self.ranks.index(rank)] if rank in self.ranks else RUNNING

    def states(self) -> list[int]:
        return self._states.tolist()

    def answer(self) -> None:
        """Write down where this process is, if that was asked for."""
        asked = self._asked[0]
        if self._answered[self.place] == asked:
            return
        waiting = self.waiting
        text = (waiting() if waiting is not None else f"is in {where(sys._current_frames().get(self._main))}").encode()[:TEXT - 4]
        begin = TEXT * self.place
        self._texts[begin:begin + 4] = len(text).to_bytes(4, "little")
        self._texts[begin + 4:begin + 4 + len(text)] = text
        self._answered[self.place] = asked

    def ask(self, ranks: Iterable[int]) -> str:
        """One line for each of these ranks, which says where it is."""
        self._asked[0] += 1
        asked, deadline = self._asked[0], time.monotonic() + ANSWER_SECONDS
        self.answer()
        lines = []
        for rank in ranks:
            if rank not in self.ranks:
                lines.append(f"  rank {rank} is on another machine")
                continue
            place = self.ranks.index(rank)
            while self._answered[place] < asked and self._states[place] == RUNNING and time.monotonic() < deadline:
                time.sleep(0.005)
            begin = TEXT * place
            size = int.from_bytes(self._texts[begin:begin + 4], "little")
            text = bytes(self._texts[begin + 4:begin + 4 + size]).decode(errors="replace")
            state = self._states[place]
            if state == ENDED:
                text = "has ended"
            elif state == FAILED:
                text = f"has failed; it {text}" if self._answered[place] else "has failed"
            elif self._answered[place] < asked:
                text = "does not answer (it computes, or is stopped)"
            lines.append(f"  rank {rank} {text}")
        return "\n".join(lines)

    def _watch(self) -> None:
        """Answers for a main thread that is not in a collective. Without its launcher this process has to end, too."""
        while True:
            time.sleep(WATCHDOG_SECONDS)
            if self._asked[0] != self._answered[self.place]:
                self.answer()
            if os.getppid() != self._parent:
                os._exit(1)


def where(frame: Any) -> str:
    """The line of the program that a frame executes: "train.py:40: `dist.barrier()`"."""
    while frame is not None and frame.f_back is not None and (is_internal(frame) or is_of_standard_library(frame)):
        frame = frame.f_back
    if frame is None:
        return "an unknown place"
    path, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(path, line).strip()
    return f"{os.path.basename(path)}:{line}" + (f": `{text}`" if text else "")


class Ledger:
    """The collectives of one group, counted; each is compared with what the others have entered under that number."""

    def __init__(self, board: Board, comm: Any, node: Any, ranks: Sequence[int]) -> None:
        self.board = board
        self.ranks = ranks  # of all, as global ranks
        self.local: list[int] = node.allgather(ranks[comm.rank])
        self._memory = shared_memory(node, 8 * (REMEMBERED + 1) * node.size)
        self._cells = memoryview(self._memory).cast("Q")
        self._complaints = self._cells[REMEMBERED * node.size:]  # of each rank: the number of the collective that it complains of
        self._own = REMEMBERED * node.rank
        self._next = REMEMBERED * ((node.rank + 1) % node.size)
        self.is_on_one_machine = len(self.local) == len(ranks)
        self._others = [REMEMBERED * i for i in range(node.size) if i != node.rank]
        self.number = 0

    def enter(self, call: tuple[Any, ...], blocking: int = 0) -> int:
        """Begin a collective. Raises if a neighbour has entered another one under this number."""
        self.number = number = self.number + 1
        entry, column = number << 32 | fingerprints[call], number % REMEMBERED
        self._cells[self._own + column] = entry | blocking
        other = self._cells[self._next + column]
        if other >> 1 != entry >> 1 and other >> 32 == number:
            self.raise_mismatch(number, call)
        return entry

    def all_block(self, entry: int, call: tuple[Any, ...], seconds: float) -> bool:
        """Wait until all ranks have entered this collective; gives whether all of them wait for it at once.

        Then MPI's blocking collective can be used, which is quicker in some libraries, and cannot hang any more.
        """
        cells, column, number = self._cells, (entry >> 32) % REMEMBERED, entry >> 32
        blocking, deadline = BLOCKING, 0.0
        for other in self._others:
            polls = 0
            while cells[other + column] >> 32 < number:
                polls += 1
                if polls > EAGER_POLLS:
                    offer_processor()
                if polls % POLLS_BETWEEN_LOOKS == 0:
                    deadline = deadline or time.monotonic() + seconds
                    self.wait_on(entry, call, deadline, seconds)
            theirs = cells[other + column]
            if theirs >> 1 != entry >> 1 and theirs >> 32 == number:
                self.raise_mismatch(number, call)
            blocking &= theirs
        if deadline:
            self.board.waiting = None
        return bool(blocking)

    def wait_on(self, entry: int, call: tuple[Any, ...], deadline: float, seconds: float) -> None:
        """Called now and then while waiting: answers who asks, raises if there is nothing to wait for, or no more time."""
        if self.board.waiting is None:
            self.board.stand(call)
        try:
            self.look_around(entry, call)
            late = time.monotonic() - deadline
            if late > 0:
                raise DistBackendError(f"Timed out waiting {seconds * 1000:.0f}ms for {described(call)} to complete.\n"
                                       f"{self.board.ask(self.ranks)}")
        except BaseException:
            self.board.waiting = None
            raise
        if late > SLEEP_AFTER_SECONDS - seconds:
            time.sleep(0.0005)

    def check(self, entry: int, call: tuple[Any, ...]) -> None:
        """At the end of a collective that was entered: the neighbour, who may have come later, must have entered the same."""
        other = self._cells[self._next + (entry >> 32) % REMEMBERED]
        if other >> 1 != entry >> 1 and other >> 32 == entry >> 32:
            self.raise_mismatch(entry >> 32, call)

    def look_around(self, entry: int, call: tuple[Any, ...]) -> None:
        """While waiting: answer who asks, and raise if a rank is in another collective, or has ended without this one."""
        self.board.answer()
        number = entry >> 32
        for i, rank in enumerate(self.local):
            other = self._cells[i * REMEMBERED + number % REMEMBERED]
            if other >> 32 == number and other >> 1 != entry >> 1:
                self.raise_mismatch(number, call)
            if other >> 32 < number and self.board.state(rank) == ENDED:
                raise DistBackendError(f"Connection closed by peer: rank {rank} has ended, and never came to the `{call[0]}` "
                                       f"for which rank {self.board.rank} waits.\n{self.board.ask(self.ranks)}")

    def raise_mismatch(self, number: int, call: tuple[Any, ...]) -> None:
        self.board.stand(call)
        where_all_are = self.board.ask(self.ranks)
        self._complaints[self._own // REMEMBERED] = number
        deadline = time.monotonic() + ANSWER_SECONDS / 2  # the others ask as well, before this one goes on
        while min(self._complaints) < number and time.monotonic() < deadline and not any(self.board.states()):
            self.board.answer()
            time.sleep(0.001)
        self.board.waiting = None
        raise DistBackendError(f"Detected mismatch between collectives on ranks. Rank {self.board.rank} is running collective "
                               f"{number}: {described(call)}, and another rank something else.\n{where_all_are}")


def described(call: tuple[Any, ...]) -> str:
    """"all_reduce(op=SUM, float32, 12 elements)"."""
    return f"{call[0]}({', '.join(map(str, call[1:]))})"
