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
from functools import cache
from typing import Any

from llvmlite import ir

from whygrad.base.threads import number_of_threads, openblas
from whygrad.kernels import memory
from whygrad.kernels.code import address_of
from whygrad.kernels.host import host
from whygrad.kernels.linker import symbols
from whygrad.kernels.values import I32, I64, POINTER, VOID, Function, Value

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


def _at(f: Function, offset: int, kind: Any) -> Any:
    """A field of the shared memory, for atomic access."""
    base = f.module.globals.get("whygrad_pool") or ir.GlobalVariable(f.module, ir.IntType(8), "whygrad_pool")
    return f.b.bitcast(f.b.gep(base, [ir.Constant(I64, offset)]), kind.as_pointer())


def _pause(f: Function) -> None:
    if platform.machine() in ("x86_64", "AMD64"):
        f.call("llvm.x86.sse2.pause", VOID)
    else:
        f.call("llvm.aarch64.hint", VOID, f.constant(1, I32))


def _call_task(f: Function, task: Value, *arguments: Value) -> None:
    kind = ir.FunctionType(VOID, [POINTER, I64, I64]).as_pointer()
    f.b.call(f.b.bitcast(task.v, kind), [argument.v for argument in arguments])


def _job_number(word: Value) -> Value:
    return Value(word.f, word.f.b.lshr(word.v, ir.Constant(I64, 2 * PIECE_BITS)))


def _claim_pieces(f: Function) -> Value:
    """Claim and do pieces until there are none; gives the word that said so."""
    claim, work, finished = (f.function.append_basic_block(name) for name in ("claim", "work", "finished"))
    f.b.branch(claim)
    f.b.position_at_end(claim)
    word = Value(f, f.b.atomic_rmw("add", _at(f, WORD, I64), ir.Constant(I64, 1), "seq_cst"))
    mask = (1 << PIECE_BITS) - 1
    piece = word & mask
    count = Value(f, f.b.lshr(word.v, ir.Constant(I64, PIECE_BITS))) & mask
    f.b.cbranch((piece < count).v, work, finished)
    f.b.position_at_end(work)
    job = Value(f, f.b.bitcast(_at(f, JOB, I64), POINTER))
    task, arguments = f.load(POINTER, job, 0), f.load(POINTER, job, 1)
    n, length = f.load(I64, job, 2), f.load(I64, job, 3)
    low = piece * length
    high = low + length
    _call_task(f, task, arguments, low, f.choose(high < n, high, n))
    f.b.atomic_rmw("add", _at(f, DONE, I64), ir.Constant(I64, 1), "seq_cst")
    f.b.branch(claim)
    f.b.position_at_end(finished)
    return word


def _spin_until(f: Function, condition: Any, spins: int | None) -> Any:
    """Spin until `condition()` holds, giving way now and then; or `spins` times, then gives whether it held."""
    before, spin, after = f.b.block, f.function.append_basic_block("spin"), f.function.append_basic_block("spun")
    f.b.branch(spin)
    f.b.position_at_end(spin)
    count = f.b.phi(I64)
    count.add_incoming(ir.Constant(I64, 0), before)
    holds = condition()
    _pause(f)
    following = f.b.add(count, ir.Constant(I64, 1))
    if spins is None:
        with f.when((Value(f, following) & 255).equals(0)):
            f.call("sched_yield", I32)  # the thread that is waited for may have lost its processor
        stop = holds
    else:
        stop = f.b.or_(holds, f.b.icmp_signed(">=", following, ir.Constant(I64, spins)))
    count.add_incoming(following, f.b.block)
    f.b.cbranch(stop, after, spin)
    f.b.position_at_end(after)
    return holds


def _write_worker(module: Any, name: str) -> None:
    """void *worker(number): wait for a job, do pieces of it; for ever. Those that are not wanted now are parked."""
    f = Function(module, name, POINTER, [I64])
    (number,) = f.arguments
    last = f.variable(f.integer(0))
    null = ir.Constant(POINTER, None)
    top, park, wanted = (f.function.append_basic_block(name) for name in ("top", "park", "wanted"))

    def sleep_until_changed(place: int, seen: Any) -> None:
        f.call("syscall", I64, f.integer(FUTEX or 0), f.b.bitcast(_at(f, place, I32), POINTER), f.integer(FUTEX_WAIT),
               Value(f, seen).to(I64), null, null, f.integer(0))

    f.b.branch(top)
    f.b.position_at_end(top)
    changes = f.b.load_atomic(_at(f, PARKED, I32), "seq_cst", 4)
    surplus = number >= Value(f, f.b.load_atomic(_at(f, THREADS, I64), "seq_cst", 8))
    f.b.cbranch(surplus.v, park, wanted)
    f.b.position_at_end(park)
    sleep_until_changed(PARKED, changes)
    f.b.branch(top)
    f.b.position_at_end(wanted)

    def is_new() -> Any:
        word = Value(f, f.b.load_atomic(_at(f, WORD, I64), "seq_cst", 8))
        return _job_number(word).differs(last.get()).v

    with f.b.if_else(_spin_until(f, is_new, SPINS)) as (work, sleep):
        with work:
            word = Value(f, f.b.load_atomic(_at(f, WORD, I64), "seq_cst", 8))
            last.set(_job_number(word))
            with f.when(number < f.load(I64, Value(f, f.b.bitcast(_at(f, THREADS, I64), POINTER)))):
                last.set(_job_number(_claim_pieces(f)))
        with sleep:
            f.b.atomic_rmw("add", _at(f, SLEEPERS, I32), ir.Constant(I32, 1), "seq_cst")
            ticket = f.b.load_atomic(_at(f, TICKET, I32), "seq_cst", 4)
            with f.b.if_then(f.b.not_(is_new())):
                sleep_until_changed(TICKET, ticket)
            f.b.atomic_rmw("sub", _at(f, SLEEPERS, I32), ir.Constant(I32, 1), "seq_cst")
    f.b.branch(top)


def _write_run_parallel(module: Any, name: str) -> None:
    """void run_parallel(task, arguments, n, grain, gang)"""
    f = Function(module, name, VOID, [POINTER, POINTER, I64, I64, I64])
    task, arguments, n, grain, gang = f.arguments
    zero, one = ir.Constant(I32, 0), ir.Constant(I32, 1)
    threads = f.load(I64, Value(f, f.b.bitcast(_at(f, THREADS, I64), POINTER)))
    parts = threads * f.choose(gang.equals(0), f.integer(PIECES_PER_THREAD), f.integer(1))
    length = (n + parts * grain - 1) // (parts * grain) * grain
    serial, parallel, wait, free = (f.function.append_basic_block(name) for name in ("serial", "parallel", "wait", "free"))
    f.b.cbranch(((threads > 1) & (length < n)).v, parallel, serial)

    f.b.position_at_end(serial)
    _call_task(f, task, arguments, f.integer(0), n)
    f.b.ret_void()

    f.b.position_at_end(parallel)
    taken = f.b.extract_value(f.b.cmpxchg(_at(f, BUSY, I32), zero, one, "seq_cst"), 1)
    occupied = f.function.append_basic_block("occupied")
    f.b.cbranch(taken, free, occupied)
    f.b.position_at_end(occupied)
    f.b.cbranch(gang.equals(0).v, serial, wait)
    f.b.position_at_end(wait)
    _spin_until(f, lambda: f.b.extract_value(f.b.cmpxchg(_at(f, BUSY, I32), zero, one, "seq_cst"), 1), None)
    f.b.branch(free)

    f.b.position_at_end(free)
    job = Value(f, f.b.bitcast(_at(f, JOB, I64), POINTER))
    for i, value in enumerate((task, arguments, n, length)):
        f.store(value, job, i)
    count = (n + length - 1) // length
    f.b.store_atomic(ir.Constant(I64, 0), _at(f, DONE, I64), "seq_cst", 8)
    old = Value(f, f.b.load_atomic(_at(f, WORD, I64), "seq_cst", 8))
    word = ((_job_number(old) + 1) << (2 * PIECE_BITS)) | (count << PIECE_BITS)
    f.b.store_atomic(word.v, _at(f, WORD, I64), "seq_cst", 8)
    f.b.atomic_rmw("add", _at(f, TICKET, I32), one, "seq_cst")
    with f.b.if_then(f.b.icmp_signed("!=", f.b.load_atomic(_at(f, SLEEPERS, I32), "seq_cst", 4), zero)):
        null = ir.Constant(POINTER, None)
        f.call("syscall", I64, f.integer(FUTEX or 0), f.b.bitcast(_at(f, TICKET, I32), POINTER), f.integer(FUTEX_WAKE),
               f.integer(MOST), null, null, f.integer(0))
    _claim_pieces(f)
    _spin_until(f, lambda: f.b.icmp_signed("==", f.b.load_atomic(_at(f, DONE, I64), "seq_cst", 8), count.v), None)
    f.b.store_atomic(zero, _at(f, BUSY, I32), "seq_cst", 4)
    f.b.ret_void()


def _write_blas_callback(module: Any, name: str) -> None:
    """What OpenBLAS calls to have `count` jobs done: void (sync, job, count, size of an entry, entries, extra)."""
    def task(f: Function) -> None:
        slots, low, high = f.arguments
        job, entries = f.load(POINTER, slots, 0), f.load(POINTER, slots, 2)
        size, extra = f.load(I64, slots, 1), f.load(I64, slots, 3)
        kind = ir.FunctionType(VOID, [I32, POINTER, I32]).as_pointer()
        with f.loop(low, high) as i:
            entry = f.pointer(ir.IntType(8), entries, i * size)
            f.b.call(f.b.bitcast(job.v, kind), [i.to(I32).v, entry.v, extra.to(I32).v])
        f.b.ret_void()

    inner = Function(module, f"{name}_task", VOID, [POINTER, I64, I64], internal=True)
    task(inner)
    f = Function(module, name, VOID, [I32, POINTER, I32, I64, POINTER, I32])
    _, job, count, size, entries, extra = f.arguments
    slots = Value(f, f.b.bitcast(f.b.alloca(I64, 4), POINTER))
    for i, value in enumerate((job, size, entries, extra.to(I64))):
        f.store(value, slots, i)
    f.call("whygrad_run_parallel", VOID, f.b.bitcast(inner.function, POINTER), slots, count.to(I64), f.integer(1), f.integer(1))
    f.b.ret_void()


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
