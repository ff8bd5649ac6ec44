"""One pool of threads for all kernels, and for OpenBLAS: workers that run compiled code and never touch Python.

A task is `task(arguments, low, high)`. `run_parallel(task, arguments, n, grain, gang)` cuts range(n) into pieces of a
multiple of `grain`. Idle workers and the caller claim the next piece; the caller waits only for pieces that were claimed, so a
worker that the system does not schedule delays nothing. A caller that finds the pool busy does all pieces itself, or waits if
they are a `gang`: OpenBLAS's jobs wait for one another, so they have to run at the same time.

Claiming is one atomic addition to a word that holds the job's number, its count of pieces and the next piece. A claim of
an old job is out of range in the word itself, so a worker that comes late can do no harm.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading
from collections.abc import Callable
from functools import cache
from typing import Any

from whygrad.base.threads import number_of_threads, openblas
from whygrad.kernels import memory
from whygrad.kernels.code import address_of
from whygrad.kernels.host import host
from whygrad.kernels.ir import number
from whygrad.kernels.linker import symbols
from whygrad.kernels.values import I8, I32, I64, POINTER, VOID, Function, Value

MOST = 64
LINE = 64
# The memory that all share, in bytes: what is written by different threads lies in different cache lines.
BUSY, THREADS, PARKED, WORD, DONE, JOB, TICKET, SLEEPERS = 0, 8, 16, LINE, 2 * LINE, 3 * LINE, 4 * LINE, 4 * LINE + 4
SIZE = 5 * LINE
PIECE_BITS = 20
PIECES_PER_THREAD = 2

# About 0.2 ms: between two operations of a network there is often more than 0.1 ms of Python, and to wake up takes as long.
SPINS = 8000
FUTEX = {"x86_64": 202, "AMD64": 202, "aarch64": 98}.get(platform.machine())
FUTEX_WAIT, FUTEX_WAKE = 128, 129  # of this process alone


class Shared:
    """The memory itself, aligned to cache lines."""

    def __init__(self) -> None:
        self._memory = ctypes.create_string_buffer(SIZE + LINE)
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._memory))  # workers look at it until the process ends
        self.address = -(-ctypes.addressof(self._memory) // LINE) * LINE
        self.threads = ctypes.c_int64.from_address(self.address + THREADS)
        self.parked = ctypes.c_int32.from_address(self.address + PARKED)  # how often the number of threads has changed

    def clear(self) -> None:
        ctypes.memset(self.address, 0, SIZE)


shared = Shared()


def _at(f: Function, offset: int) -> Value:
    """A field of the shared memory."""
    return f.pointer(I8, f.symbol("whygrad_pool"), offset)


def _read(f: Function, offset: int, kind: Any = I64) -> Value:
    return Value(f, f.b.load_atomic(kind, _at(f, offset).v))


def _write(f: Function, value: Value, offset: int) -> None:
    f.b.store_atomic(value.v, _at(f, offset).v)


def _change(f: Function, how: str, offset: int, kind: Any = I64) -> Value:
    """Add or subtract 1; gives what was there before."""
    return Value(f, f.b.change_atomic(how, _at(f, offset).v, number(1, kind)))


def _pause(f: Function) -> None:
    if platform.machine() in ("x86_64", "AMD64"):
        f.call("llvm.x86.sse2.pause", VOID)
    else:
        f.call("llvm.aarch64.hint", VOID, f.constant(1, I32))


def _job_number(word: Value) -> Value:
    return word.shifted_right(2 * PIECE_BITS)


def _claim_pieces(f: Function) -> Value:
    """Claim and do pieces until there are none; gives the word that said so."""
    claim, work, finished = (f.b.append_block() for _ in range(3))
    f.b.branch(claim)
    f.b.continue_in(claim)
    word = _change(f, "add", WORD)
    mask = (1 << PIECE_BITS) - 1
    piece = word & mask
    count = word.shifted_right(PIECE_BITS) & mask
    f.b.branch_if((piece < count).v, work, finished)
    f.b.continue_in(work)
    job = _at(f, JOB)
    task, arguments = f.load(POINTER, job, 0), f.load(POINTER, job, 1)
    n, length = f.load(I64, job, 2), f.load(I64, job, 3)
    low = piece * length
    high = low + length
    f.call_task(task, arguments, low, f.choose(high < n, high, n))
    _change(f, "add", DONE)
    f.b.branch(claim)
    f.b.continue_in(finished)
    return word


def _spin_until(f: Function, condition: Callable[[], Value], spins: int | None) -> Value:
    """Spin until `condition()` holds, giving way now and then; or `spins` times, then gives whether it held."""
    before, spin, after = f.b.block, f.b.append_block(), f.b.append_block()
    f.b.branch(spin)
    f.b.continue_in(spin)
    count = f.b.phi(I64)
    count.add(number(0, I64), before)
    holds = condition()
    _pause(f)
    following = Value(f, count.result) + 1
    if spins is None:
        with f.when((following & 255).equals(0)):
            f.call("sched_yield", I32)  # the thread that is waited for may have lost its processor
        stop = holds
    else:
        stop = holds | (following >= spins)
    count.add(following.v, f.b.block)
    f.b.branch_if(stop.v, after, spin)
    f.b.continue_in(after)
    return holds


def _write_worker(module: Any, name: str) -> None:
    """void *worker(number): wait for a job, do pieces of it; for ever. Those that are not wanted now are parked."""
    f = Function(module, name, POINTER, [I64])
    (worker,) = f.arguments
    last = f.variable(f.integer(0))
    top, park, wanted = (f.b.append_block() for _ in range(3))

    def sleep_until_changed(place: int, seen: Value) -> None:
        f.call("syscall", I64, f.integer(FUTEX or 0), _at(f, place), f.integer(FUTEX_WAIT), seen.to(I64), f.null, f.null,
               f.integer(0))

    f.b.branch(top)
    f.b.continue_in(top)
    changes = _read(f, PARKED, I32)
    f.b.branch_if((worker >= _read(f, THREADS)).v, park, wanted)
    f.b.continue_in(park)
    sleep_until_changed(PARKED, changes)
    f.b.branch(top)
    f.b.continue_in(wanted)

    def is_new() -> Value:
        return _job_number(_read(f, WORD)).differs(last.get())

    with f.either(_spin_until(f, is_new, SPINS)) as (work, sleep):
        with work:
            last.set(_job_number(_read(f, WORD)))
            with f.when(worker < f.load(I64, _at(f, THREADS))):
                last.set(_job_number(_claim_pieces(f)))
        with sleep:
            _change(f, "add", SLEEPERS, I32)
            ticket = _read(f, TICKET, I32)
            with f.when(~is_new()):
                sleep_until_changed(TICKET, ticket)
            _change(f, "sub", SLEEPERS, I32)
    f.b.branch(top)


def _write_run_parallel(module: Any, name: str) -> None:
    """void run_parallel(task, arguments, n, grain, gang)"""
    f = Function(module, name, VOID, [POINTER, POINTER, I64, I64, I64])
    task, arguments, n, grain, gang = f.arguments
    threads = f.load(I64, _at(f, THREADS))
    parts = threads * f.choose(gang.equals(0), f.integer(PIECES_PER_THREAD), f.integer(1))
    length = (n + parts * grain - 1) // (parts * grain) * grain
    serial, parallel, wait, free = (f.b.append_block() for _ in range(4))
    f.b.branch_if(((threads > 1) & (length < n)).v, parallel, serial)

    f.b.continue_in(serial)
    f.call_task(task, arguments, f.integer(0), n)
    f.give()

    def is_taken() -> Value:
        return Value(f, f.b.exchange_if(_at(f, BUSY).v, number(0, I32), number(1, I32)))

    f.b.continue_in(parallel)
    taken, occupied = is_taken(), f.b.append_block()
    f.b.branch_if(taken.v, free, occupied)
    f.b.continue_in(occupied)
    f.b.branch_if(gang.equals(0).v, serial, wait)
    f.b.continue_in(wait)
    _spin_until(f, is_taken, None)
    f.b.branch(free)

    f.b.continue_in(free)
    job = _at(f, JOB)
    for i, value in enumerate((task, arguments, n, length)):
        f.store(value, job, i)
    count = (n + length - 1) // length
    _write(f, f.integer(0), DONE)
    word = ((_job_number(_read(f, WORD)) + 1) << (2 * PIECE_BITS)) | (count << PIECE_BITS)
    _write(f, word, WORD)
    _change(f, "add", TICKET, I32)
    with f.when(_read(f, SLEEPERS, I32).differs(0)):
        f.call("syscall", I64, f.integer(FUTEX or 0), _at(f, TICKET), f.integer(FUTEX_WAKE), f.integer(MOST), f.null, f.null,
               f.integer(0))
    _claim_pieces(f)
    _spin_until(f, lambda: _read(f, DONE).equals(count), None)
    _write(f, f.constant(0, I32), BUSY)
    f.give()


def _write_blas_callback(module: Any, name: str) -> None:
    """What OpenBLAS calls to have `count` jobs done: void (sync, job, count, size of an entry, entries, extra)."""
    def task(f: Function) -> None:
        slots, low, high = f.arguments
        job, entries = f.load(POINTER, slots, 0), f.load(POINTER, slots, 2)
        size, extra = f.load(I64, slots, 1), f.load(I64, slots, 3)
        with f.loop(low, high) as i:
            f.call_task(job, i.to(I32), f.pointer(I8, entries, i * size), extra.to(I32))
        f.give()

    inner = Function(module, f"{name}_task", VOID, [POINTER, I64, I64], internal=True)
    task(inner)
    f = Function(module, name, VOID, [I32, POINTER, I32, I64, POINTER, I32])
    _, job, count, size, entries, extra = f.arguments
    slots = f.frame(I64, 4, 0)
    for i, value in enumerate((job, size, entries, extra.to(I64))):
        f.store(value, slots, i)
    f.call("whygrad_run_parallel", VOID, inner.function, slots, count.to(I64), f.integer(1), f.integer(1))
    f.give()


class Pool:
    """Starts and counts the workers."""

    def __init__(self) -> None:
        self._started = 1
        self._lock = threading.Lock()
        self._blas: Any = None
        shared.threads.value = 1
        host()
        symbols["whygrad_pool"] = shared.address
        self.run_parallel = address_of("pool: run_parallel", _write_run_parallel)
        symbols["whygrad_run_parallel"] = self.run_parallel
        self._can_thread = sys.platform == "linux" and FUTEX is not None
        if self._can_thread:
            self._worker = address_of("pool: worker", _write_worker)
            self._libc = ctypes.CDLL(None, use_errno=True)
            os.register_at_fork(after_in_child=self._after_fork)

    def set_threads(self, count: int) -> None:
        count = min(max(count, 1), MOST) if self._can_thread else 1
        with self._lock:
            while self._started < count:
                handle = ctypes.c_void_p()
                failed = self._libc.pthread_create(ctypes.byref(handle), None, ctypes.c_void_p(self._worker),
                                                   ctypes.c_void_p(self._started))
                if failed:
                    count = self._started
                    break
                self._libc.pthread_detach(handle)
                self._started += 1
            shared.threads.value = count
            self._unpark()
            if self._blas is not None:
                self._blas.scipy_openblas_set_num_threads64_(count)  # as many jobs as there are threads to run them

    def _unpark(self) -> None:
        """Have parked workers look again whether they are wanted."""
        shared.parked.value += 1
        if self._can_thread:
            self._libc.syscall(FUTEX, ctypes.c_void_p(shared.address + PARKED), FUTEX_WAKE, MOST, None, None, 0)

    def threads(self) -> int:
        return int(shared.threads.value)

    def _after_fork(self) -> None:
        """Only the forking thread lives on in a child."""
        count = self.threads()
        shared.clear()
        self._lock = threading.Lock()
        self._started = 1
        shared.threads.value = 1
        self.set_threads(count)

    def serve_blas(self) -> bool:
        """Have NumPy's OpenBLAS work on this pool: two pools of spinning threads would fight for the cores."""
        library = openblas()
        register = getattr(library, "scipy_openblas_set_threads_callback_function64_", None) if library else None
        if register is None or not self._can_thread:
            return False
        register.argtypes = [ctypes.c_void_p]
        register(address_of("pool: OpenBLAS", _write_blas_callback))
        self._blas = library
        library.scipy_openblas_set_num_threads64_(self.threads())
        return True


@cache
def pool() -> Pool:
    made = Pool()
    made.set_threads(number_of_threads())
    # It has to be asked for: OpenBLAS hangs if several Python threads call its LAPACK at once while its jobs run elsewhere.
    if os.environ.get("WHYGRAD_BLAS_POOL") == "1":
        made.serve_blas()
    memory.install()
    return made
