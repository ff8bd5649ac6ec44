"""The machine code of the allocator (see memory.py): malloc, calloc, realloc, free, and giving everything back.

Each block has a line of 64 bytes in front, with the number of its size class and its kind. A small one comes from malloc, a
large one too, on huge pages of its own. Those between are cut from pieces of ground, which are huge pages: scattered over
small ones, a matrix costs a tenth of the time of its product in misses. Ground is never given back; the pages of a block
on it are, and then the block is hollow. Where the system has no memory left, everything that is kept goes back to it before a
request fails.
"""

from __future__ import annotations

from typing import Any

from whygrad.kernels.ir import number
from whygrad.kernels.values import I1, I8, I32, I64, POINTER, VOID, Function, Value

# The allocator's own memory, in units of 8 bytes: a lock, bytes kept, the most to keep, hits, misses, where ground that is
# not cut yet begins and ends, then the lists.
LOCK, KEPT, MOST, HITS, MISSES, GROUND, GROUND_END, LISTS = range(8)
CLASSES = 544
LINE = 64
PAGE, HUGE_PAGE = 4096, 2 << 20
ON_GROUND_FROM, LARGE = 64 << 10, 4 << 20
PIECE_OF_GROUND = 32 << 20
# Kinds of blocks.
OWN, ON_GROUND, HOLLOW = range(3)
MADV_DONTNEED, MADV_HUGEPAGE = 4, 14


class Heap(Function):
    """A function of the allocator while it is written."""

    def __init__(self, module: Any, name: str, result: Any, arguments: list[Any]) -> None:
        super().__init__(module, name, result, arguments)
        self.heap = self.symbol("whygrad_heap")

    def is_null(self, pointer: Value) -> Value:
        return pointer.equals(self.null)

    def kept(self, what: int) -> Value:
        return self.load(I64, self.heap, what)

    def keep(self, value: Any, what: int) -> None:
        self.store(value, self.heap, what)

    def count(self, what: int, amount: Any) -> None:
        self.keep(self.kept(what) + amount, what)

    def lock(self) -> None:
        """Spin until the lock is ours."""
        wait, taken = self.b.append_block(), self.b.append_block()
        self.b.branch(wait)
        self.b.continue_in(wait)
        old = Value(self, self.b.change_atomic("xchg", self.heap.v, number(1, I32), "acquire"))
        self.b.branch_if(old.equals(0).v, taken, wait)
        self.b.continue_in(taken)

    def unlock(self) -> None:
        self.b.store_atomic(number(0, I32), self.heap.v, "release")

    def list_of(self, number: Value) -> Value:
        return number + LISTS

    def front(self, block: Value) -> Value:
        return self.pointer(I8, block, -LINE)

    def kind(self, block: Value) -> Value:
        return self.load(I64, self.front(block), 1)

    def size_of(self, block: Value) -> tuple[Value, Value]:
        """The number of a block's size class, and the size."""
        number = self.load(I64, self.front(block))
        shift = (number - 5).shifted_right(3) - 2
        return number, (number - (shift + 2) * 8) << shift

    def size_class(self, size: Value) -> tuple[Value, Value]:
        """Four classes for each power of two: the number of the class, and its size."""
        last = self.choose(size < LINE, size.like(LINE), size) - 1
        power = 63 - self.call("llvm.ctlz.i64", I64, last, self.constant(0, I1))
        shift = power - 2
        quarters = last.shifted_right(shift) + 1
        return power * 8 + quarters, quarters << shift

    def aligned(self, alignment: Value, size: Value) -> Value:
        """Fresh memory, or NULL."""
        made = self.variable(self.null)
        failed = self.call("posix_memalign", I32, Value(self, made.place), alignment, size)
        return self.choose(failed.equals(0), made.get(), self.null)

    def advise(self, start: Value, size: Value, advice: int) -> None:
        self.call("madvise", I32, start, size, self.constant(advice, I32))

    def hollow_out(self, block: Value, size: Value) -> None:
        """Give the pages back that lie wholly in the block, but for its first bytes, where the next of its list is noted."""
        address = block.as_integer()
        first, end = (address + (8 + PAGE - 1)) & -PAGE, (address + size) & -PAGE
        with self.when(first < end):
            self.advise(self.pointer(I8, block, first - address), end - first, MADV_DONTNEED)
        self.store(self.integer(HOLLOW), self.front(block), 1)

    def push(self, block: Value, number: Value) -> None:
        self.store(self.load(POINTER, self.heap, self.list_of(number)), block)
        self.store(block, self.heap, self.list_of(number))


def write_all(module: Any, name: str) -> None:
    """One object with all functions. `name` is malloc; the others are called after it."""
    empty = _write_empty(module, f"{name}_empty")
    allocate = _write_malloc(module, name, empty)
    _write_free(module, f"{name}_free")
    _write_calloc(module, f"{name}_calloc", allocate)
    _write_realloc(module, f"{name}_realloc", allocate, f"{name}_free")


def _write_malloc(module: Any, name: str, empty: Any) -> Any:
    f = Heap(module, name, POINTER, [POINTER, I64])
    _, size = f.arguments
    number, rounded = f.size_class(size)
    f.lock()
    first = f.load(POINTER, f.heap, f.list_of(number))
    with f.when(~f.is_null(first)):
        f.store(f.load(POINTER, first), f.heap, f.list_of(number))
        with f.either(f.kind(first).equals(HOLLOW)) as (hollow, full):
            with hollow:
                f.store(f.integer(ON_GROUND), f.front(first), 1)
            with full:
                f.count(KEPT, -rounded)
        f.count(HITS, 1)
        f.unlock()
        f.give(first)
    f.count(MISSES, 1)
    on_ground = (rounded >= ON_GROUND_FROM) & (rounded < LARGE)
    with f.when(on_ground):
        _cut_from_ground(f, number, rounded + LINE)  # or goes on, if there is no more ground
    f.unlock()
    is_large = rounded >= LARGE
    alignment = f.choose(is_large, f.integer(HUGE_PAGE), f.integer(LINE))
    made = f.variable(f.aligned(alignment, rounded + LINE))
    with f.when(f.is_null(made.get()), likely=False):
        f.b.call(empty, [])
        made.set(f.aligned(alignment, rounded + LINE))
        with f.when(f.is_null(made.get()), likely=False):
            f.give(f.null)
    with f.when(is_large):
        f.advise(made.get(), rounded + LINE, MADV_HUGEPAGE)
    _begin(f, made.get(), number, OWN)
    return f.function


def _begin(f: Heap, front: Value, number: Value, kind: int) -> None:
    f.store(number, front)
    f.store(f.integer(kind), front, 1)
    f.b.ret(f.pointer(I8, front, LINE).v)


def _cut_from_ground(f: Heap, number: Value, size: Value) -> None:
    with f.when(f.kept(GROUND) + size > f.kept(GROUND_END), likely=False):
        piece = f.aligned(f.integer(HUGE_PAGE), f.integer(PIECE_OF_GROUND))
        with f.when(~f.is_null(piece)):
            f.advise(piece, f.integer(PIECE_OF_GROUND), MADV_HUGEPAGE)
            start = piece.as_integer()
            f.keep(start, GROUND)
            f.keep(start + PIECE_OF_GROUND, GROUND_END)
    with f.when(f.kept(GROUND) + size <= f.kept(GROUND_END)):
        front = f.kept(GROUND).cast("inttoptr", POINTER)
        f.count(GROUND, size)
        f.unlock()
        _begin(f, front, number, ON_GROUND)


def _write_free(module: Any, name: str) -> None:
    f = Heap(module, name, VOID, [POINTER, POINTER, I64])
    _, block, _ = f.arguments
    with f.when(f.is_null(block), likely=False):
        f.give()
    number, rounded = f.size_of(block)
    f.lock()
    with f.either(f.kept(KEPT) + rounded <= f.kept(MOST)) as (keep, give_back):
        with keep:
            f.push(block, number)
            f.count(KEPT, rounded)
            f.unlock()
        with give_back:
            f.unlock()
            _give_back(f, block, number, rounded, locked=False)
    f.give()


def _give_back(f: Heap, block: Value, number: Value, size: Value, locked: bool) -> None:
    with f.either(f.kind(block).equals(OWN)) as (own, on_ground):
        with own:
            f.call("free", VOID, f.front(block))
        with on_ground:
            f.hollow_out(block, size)
            if not locked:
                f.lock()
            f.push(block, number)
            if not locked:
                f.unlock()


def _write_calloc(module: Any, name: str, allocate: Any) -> None:
    f = Heap(module, name, POINTER, [POINTER, I64, I64])
    context, count, size = f.arguments
    made = Value(f, f.b.call(allocate, [context.v, (count * size).v]))
    with f.when(~f.is_null(made)):
        f.call("memset", POINTER, made, f.constant(0, I32), count * size)
    f.give(made)


def _write_realloc(module: Any, name: str, allocate: Any, free: str) -> None:
    f = Heap(module, name, POINTER, [POINTER, POINTER, I64])
    context, block, size = f.arguments
    made = Value(f, f.b.call(allocate, [context.v, size.v]))
    with f.when(~f.is_null(made) & ~f.is_null(block)):
        _, old = f.size_of(block)
        f.call("memcpy", POINTER, made, block, f.choose(old < size, old, size))
        f.call(free, VOID, context, block, f.integer(0))
    f.give(made)


def _write_empty(module: Any, name: str) -> Any:
    f = Heap(module, name, VOID, [])
    f.lock()
    with f.loop(LISTS, LISTS + CLASSES) as place:
        head = f.variable(f.load(POINTER, f.heap, place))
        f.store(f.null, f.heap, place)
        with f.repeat_while(lambda: ~f.is_null(head.get())):
            block = head.get()
            head.set(f.load(POINTER, block))
            number, size = f.size_of(block)
            _give_back(f, block, number, size, locked=True)
    f.keep(f.integer(0), KEPT)
    f.unlock()
    f.give()
    return f.function
