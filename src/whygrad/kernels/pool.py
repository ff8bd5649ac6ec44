"""One pool of threads for all kernels, and for OpenBLAS: workers that run compiled code and never touch Python.

A task is `task(arguments, low, high)`. `run_parallel(task, arguments, n, grain)` cuts range(n) into one piece for each
thread, of a multiple of `grain`. Each worker waits on its own ticket: it spins for a while, then sleeps in the kernel.
Whoever finds the pool busy does the work alone.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import threading
from functools import cache
from typing import Any

from whygrad.kernels import memory
from whygrad.kernels.code import address_of
from whygrad.kernels.host import host
from whygrad.kernels.values import I32, I64, POINTER, VOID, Function, Value

_whygrad_internal_ = True

MOST = 64
# Of the memory that pool and workers share, in bytes. First a line for all, then four lines for each worker.
BUSY, THREADS = 0, 8
LINE, WORKER = 64, 256
TICKET, SLEEPING, DONE, TASK = 0, 64, 128, 192

SPINS = 3000
FUTEX = {"x86_64": 202, "AMD64": 202, "aarch64": 98}.get(platform.machine())
FUTEX_WAIT, FUTEX_WAKE = 128, 129  # of this process alone


class Shared:
    """The memory itself, aligned to cache lines."""

    def __init__(self) -> None:
        size = LINE + MOST * WORKER
        self._memory = ctypes.create_string_buffer(size + LINE)
        self.address = -(-ctypes.addressof(self._memory) // LINE) * LINE
        self.size = size

    def clear(self) -> None:
        ctypes.memset(self.address, 0, self.size)

    def threads(self) -> Any:
        return ctypes.c_int64.from_address(self.address + THREADS)

    def worker(self, number: int) -> int:
        return self.address + LINE + number * WORKER


shared = Shared()


def _field(f: Function, base: Value, offset: int) -> Any:
    from llvmlite import ir

    place = f.b.gep(base.v, [ir.Constant(I64, offset)])
    return f.b.bitcast(place, I32.as_pointer())


def _pause(f: Function) -> None:
    if platform.machine() in ("x86_64", "AMD64"):
        f.call("llvm.x86.sse2.pause", VOID)
    else:
        f.call("llvm.aarch64.hint", VOID, f.constant(1, I32))


def _call_task(f: Function, task: Value, *arguments: Value) -> None:
    from llvmlite import ir

    kind = ir.FunctionType(VOID, [POINTER, I64, I64]).as_pointer()
    f.b.call(f.b.bitcast(task.v, kind), [argument.v for argument in arguments])


def _wait_until_changed(f: Function, place: Any, old: Value) -> Any:
    """Spin until the number at `place` is another one than `old`, or until it has taken too long. Gives a condition."""
    from llvmlite import ir

    before, spin = f.b.block, f.function.append_basic_block("spin")
    after = f.function.append_basic_block("spun")
    f.b.branch(spin)
    f.b.position_at_end(spin)
    count = f.b.phi(I64)
    count.add_incoming(ir.Constant(I64, 0), before)
    changed = f.b.icmp_signed("!=", f.b.load_atomic(place, "acquire", 4), old.v)
    _pause(f)
    following = f.b.add(count, ir.Constant(I64, 1))
    count.add_incoming(following, spin)
    f.b.cbranch(f.b.or_(changed, f.b.icmp_signed(">=", following, ir.Constant(I64, SPINS))), after, spin)
    f.b.position_at_end(after)
    return changed


def _write_worker(module: Any, name: str) -> None:
    """void *worker(void *mine): wait for a ticket, do the task, say so; for ever."""
    from llvmlite import ir

    f = Function(module, name, POINTER, [POINTER])
    (mine,) = f.arguments
    ticket, sleeping, done = (_field(f, mine, offset) for offset in (TICKET, SLEEPING, DONE))
    last = f.variable(f.constant(0, I32))
    top = f.function.append_basic_block("top")
    f.b.branch(top)
    f.b.position_at_end(top)
    changed = _wait_until_changed(f, ticket, last.get())
    with f.b.if_else(changed) as (work, sleep):
        with work:
            last.set(Value(f, f.b.load_atomic(ticket, "acquire", 4)))
            slots = f.pointer(I64, mine, TASK // 8)
            task, arguments = (f.load(POINTER, slots, i) for i in (0, 1))
            low, high = (f.load(I64, slots, i) for i in (2, 3))
            _call_task(f, task, arguments, low, high)
            f.b.store_atomic(last.get().v, done, "release", 4)
        with sleep:
            f.b.store_atomic(ir.Constant(I32, 1), sleeping, "seq_cst", 4)
            null = ir.Constant(POINTER, None)
            f.call("syscall", I64, f.integer(FUTEX or 0), f.b.bitcast(ticket, POINTER), f.integer(FUTEX_WAIT),
                   last.get().to(I64), null, null, f.integer(0))
            f.b.store_atomic(ir.Constant(I32, 0), sleeping, "seq_cst", 4)
    f.b.branch(top)


def _write_run_parallel(module: Any, name: str) -> None:
    """void run_parallel(task, arguments, n, grain)"""
    from llvmlite import ir

    f = Function(module, name, VOID, [POINTER, POINTER, I64, I64])
    task, arguments, n, grain = f.arguments
    pool = Value(f, ir.GlobalVariable(module, ir.IntType(8), "whygrad_pool"))
    zero, one = ir.Constant(I32, 0), ir.Constant(I32, 1)
    busy = _field(f, pool, BUSY)
    threads = f.load(I64, pool, THREADS // 8)
    alone = f.function.append_basic_block("alone")
    several = f.function.append_basic_block("several")
    free = f.function.append_basic_block("free")
    f.b.cbranch((threads > 1).v, several, alone)

    f.b.position_at_end(alone)
    _call_task(f, task, arguments, f.integer(0), n)
    f.b.ret_void()

    f.b.position_at_end(several)
    taken = f.b.cmpxchg(busy, zero, one, "acquire")
    f.b.cbranch(f.b.extract_value(taken, 1), free, alone)

    f.b.position_at_end(free)
    piece = (n + threads * grain - 1) // (threads * grain) * grain

    def bounded(i: Value) -> Value:
        return f.choose(i < n, i, n)

    def worker(number: Value) -> Value:
        return f.pointer(I64, pool, (number * WORKER + LINE) // 8)

    with f.loop(1, threads) as number:
        mine = worker(number)
        slots = f.pointer(I64, mine, TASK // 8)
        f.store(task, slots, 0)
        f.store(arguments, slots, 1)
        f.store(bounded(number * piece), slots, 2)
        f.store(bounded(number * piece + piece), slots, 3)
        ticket = _field(f, mine, TICKET)
        following = f.b.add(f.b.load_atomic(ticket, "monotonic", 4), one)
        f.b.store_atomic(following, ticket, "seq_cst", 4)
        asleep = f.b.icmp_signed("!=", f.b.load_atomic(_field(f, mine, SLEEPING), "seq_cst", 4), zero)
        with f.b.if_then(asleep):
            null = ir.Constant(POINTER, None)
            f.call("syscall", I64, f.integer(FUTEX or 0), f.b.bitcast(ticket, POINTER), f.integer(FUTEX_WAKE), f.integer(1),
                   null, null, f.integer(0))
    _call_task(f, task, arguments, f.integer(0), bounded(piece))
    with f.loop(1, threads) as number:
        mine = worker(number)
        given = f.b.load_atomic(_field(f, mine, TICKET), "monotonic", 4)
        done = _field(f, mine, DONE)
        wait, waited = f.function.append_basic_block("wait"), f.function.append_basic_block("waited")
        more = f.function.append_basic_block("more")
        patience = f.variable(f.integer(0))
        f.b.branch(wait)
        f.b.position_at_end(wait)
        finished = f.b.icmp_signed("==", f.b.load_atomic(done, "acquire", 4), given)
        f.b.cbranch(finished, waited, more)
        f.b.position_at_end(more)
        _pause(f)
        patience.add(f.integer(1))
        # The worker may have lost its processor.
        with f.when((patience.get() & 1023).equals(0)):
            f.call("sched_yield", I32)
        f.b.branch(wait)
        f.b.position_at_end(waited)
    f.b.store_atomic(zero, busy, "release", 4)
    f.b.ret_void()


def _write_blas_callback(module: Any, name: str) -> None:
    """What OpenBLAS calls to have `count` jobs done: void (sync, job, count, size of an entry, entries, extra)."""
    from llvmlite import ir

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
    f.call("whygrad_run_parallel", VOID, f.b.bitcast(inner.function, POINTER), slots, count.to(I64), f.integer(1))
    f.b.ret_void()


class Pool:
    """Starts and counts the workers."""

    def __init__(self) -> None:
        from llvmlite import binding

        self._started = 1
        self._lock = threading.Lock()
        shared.threads().value = 1
        host()
        binding.add_symbol("whygrad_pool", shared.address)
        self.run_parallel = address_of("pool: run_parallel", _write_run_parallel)
        binding.add_symbol("whygrad_run_parallel", self.run_parallel)
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
                                                   ctypes.c_void_p(shared.worker(self._started)))
                if failed:
                    count = self._started
                    break
                self._libc.pthread_detach(handle)
                self._started += 1
            shared.threads().value = count

    def threads(self) -> int:
        return int(shared.threads().value)

    def _after_fork(self) -> None:
        """Only the forking thread lives on in a child."""
        count = self.threads()
        shared.clear()
        self._lock = threading.Lock()
        self._started = 1
        shared.threads().value = 1
        self.set_threads(count)

    def serve_blas(self) -> bool:
        """Have NumPy's OpenBLAS work on this pool: two pools of spinning threads would fight for the cores."""
        library = _openblas()
        register = getattr(library, "scipy_openblas_set_threads_callback_function64_", None) if library else None
        if register is None or not self._can_thread:
            return False
        register.argtypes = [ctypes.c_void_p]
        register(address_of("pool: OpenBLAS", _write_blas_callback))
        return True


def _openblas() -> Any:
    import numpy as np

    folder = os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "numpy.libs")
    try:
        names = [name for name in os.listdir(folder) if name.startswith("libscipy_openblas64")]
    except OSError:
        return None
    return ctypes.CDLL(os.path.join(folder, names[0])) if names else None


@cache
def pool() -> Pool:
    made = Pool()
    made.set_threads(_threads_wanted())
    made.serve_blas()
    memory.install()
    return made


def _threads_wanted() -> int:
    given = os.environ.get("OMP_NUM_THREADS", "")
    if given.isdigit() and int(given) > 0:
        return int(given)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
