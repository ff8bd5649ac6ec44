"""MPI itself: loaded, initialized and left in order.

A rank that raises ends all others: its traceback is printed first, then MPI is aborted, which ends the launcher with an error.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import stat
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from whygrad.distributed.errors import DistError
from whygrad.distributed.ledger import ENDED, FAILED, RUNNING, Board

if TYPE_CHECKING:
    from types import TracebackType

ALL_SAY_SECONDS = 2.0  # after a failed collective each rank may say where it was before all are ended
PRINTED_SECONDS = 1.0  # a launcher that reads later than that loses the end of what a failed rank has printed

# Requests that never completed, with their buffers, into which MPI may still write. MPI cannot be finalized then.
abandoned: list[Any] = []
board: Board
in_place: Any
node: Any  # the communicator of this machine
_failed_with: list[BaseException] = []


@functools.cache
def load() -> Any:
    """The module mpi4py.MPI, initialized."""
    try:
        import mpi4py
    except ImportError:
        raise RuntimeError("torch.distributed runs on MPI through mpi4py, which is not installed: "
                           "pip install 'whygrad[mpi]'") from None
    mpi4py.rc.initialize = mpi4py.rc.finalize = False
    from mpi4py import MPI

    if not MPI.Is_initialized():
        # Several threads may communicate: a DataLoader's, a user's, or that of the backward.
        MPI.Init_thread(MPI.THREAD_MULTIPLE)
    watch_failures()
    global board, node, in_place
    in_place = MPI.IN_PLACE
    node = MPI.COMM_WORLD.Split_type(MPI.COMM_TYPE_SHARED)
    board = Board(node, MPI.COMM_WORLD.rank)
    if node.rank == 0:
        _unlink_shared_segments()
    atexit.register(_leave, MPI, os.getpid())
    threading.excepthook = functools.partial(_error_in_thread, threading.excepthook)
    return MPI


@functools.cache
def watch_failures() -> None:
    """Let an error that ends this process end the other ranks, too, also before MPI is loaded."""
    sys.excepthook = functools.partial(_print_error, sys.excepthook)
    if "PMI_FD" in os.environ:
        atexit.register(_leave_before_mpi, os.getpid(), int(os.environ["PMI_FD"]))


def note_failure(error: BaseException) -> None:
    """This process will end with an error."""
    _failed_with.append(error)


def _unlink_shared_segments() -> None:
    """MPICH's shared memory has a name until MPI is finalized: it would outlive ranks that are killed."""
    with contextlib.suppress(OSError), open("/proc/self/maps") as maps:
        for path in {line.split()[-1] for line in maps if "/dev/shm/mpich_shm_" in line}:
            with contextlib.suppress(OSError):
                os.unlink(path)


def _print_error(before: Any, kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    before(kind, error, traceback)
    sys.stderr.flush()
    note_failure(error)


def _error_in_thread(before: Any, arguments: Any) -> None:
    before(arguments)
    sys.stderr.flush()


def _status() -> int:
    """The exit status of a process that has failed."""
    code = getattr(_failed_with[0], "code", 1)
    return code if isinstance(code, int) else 1


def _wait_until_read() -> None:
    """Until the launcher has read what this process has printed: it drops the rest of it when it is asked to end the ranks."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import fcntl
        import termios

        deadline = time.monotonic() + PRINTED_SECONDS
        for stream in (1, 2):
            while stat.S_ISFIFO(os.fstat(stream).st_mode) and time.monotonic() < deadline and any(
                    fcntl.ioctl(stream, termios.FIONREAD, bytes(4))):
                time.sleep(0.002)


def _leave_before_mpi(process: int, launcher: int) -> None:
    """MPICH's launcher goes on if a rank fails before MPI is initialized, where the others wait for it. In the words of its
    protocol, PMI, it is asked to end them; Open MPI's does so by itself."""
    if _failed_with and os.getpid() == process and load.cache_info().currsize == 0:
        sys.stdout.flush()
        _wait_until_read()
        os.write(launcher, f"cmd=abort exitcode={_status()}\n".encode())


def _leave(MPI: Any, process: int) -> None:
    if os.getpid() != process:  # a forked child, a DataLoader's worker
        return
    sys.stdout.flush()
    if _failed_with:
        board.set_state(FAILED)
        deadline = time.monotonic() + ALL_SAY_SECONDS
        while isinstance(_failed_with[0], DistError) and RUNNING in board.states() and time.monotonic() < deadline:
            time.sleep(0.005)
        _wait_until_read()
        MPI.COMM_WORLD.Abort(_status())
        os._exit(_status())  # MPICH asks its launcher to end all ranks, and comes back
    board.set_state(ENDED)
    if abandoned:
        os._exit(0)
    MPI.Finalize()
