"""Products of float32 matrices on our own threads: the kernels of the rows mm, bmm, matmul, linear and addmm.

Matrices may have any strides, so a transposed one is not copied. What is too small to gain, other dtypes and odd shapes go to
NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from whygrad.backends import numpy_linear
from whygrad.kernels import gemm_code, host
from whygrad.kernels.calls import Entry, data_of, python_function
from whygrad.kernels.code import address_of
from whygrad.kernels.gemm_code import AXIS_FIELDS, DEPTH, FIELDS, MOST_AXES, VECTORS, tile_rows, tiles, vectors_of
from whygrad.kernels.pool import PIECES_PER_THREAD, THREADS
from whygrad.kernels.reduce import column_sums
from whygrad.kernels.values import I32, I64, POINTER, Value

# Multiplications below which one thread is quicker than two.
SERIAL_BELOW = 200_000
# Multiplications below which only the cost of the call counts.
TINY = 2048
# Multiplications from which on OpenBLAS uses its own threads, whose spinning takes time from ours.
THREADED_BLAS = 262_144
MOST_DIMENSIONS = 8


class Form(NamedTuple):
    """How the arguments of an entry make a product. They are a, b and, if something is added, d."""

    b_transposed: bool = False  # b is given as (columns, inner)
    # "folded": all axes of a but the last are its rows; "transposed": this holds for a and b, and a is transposed then;
    # "batch": a and b are batches of matrices
    leading: str = ""
    adds: bool = False


FORMS = {"mm": Form(), "mm_folded": Form(leading="folded"), "mm_transposed": Form(leading="transposed"),
         "matmul": Form(leading="batch"), "linear": Form(b_transposed=True, leading="folded", adds=True),
         "addmm": Form(adds=True)}


class Operand:
    """A float32 array of any strides, which are counted in elements."""

    def __init__(self, entry: Entry, value: Value) -> None:
        self.f = f = entry.f
        entry.require(entry.same(f.load(POINTER, value, host.TYPE // 8), "numpy_array_type"))
        entry.require(entry.same(f.load(POINTER, value, host.DTYPE // 8), "numpy_dtype_f4"))
        self.flags = f.load(I32, value, host.FLAGS // 4)
        entry.require_shape((self.flags & host.ALIGNED).differs(0))
        self.data = f.load(POINTER, value, host.DATA // 8)
        self.ndim = f.load(I32, value, host.NDIM // 4).to(I64)
        self.shape, self._strides = f.load(POINTER, value, host.SHAPE // 8), f.load(POINTER, value, host.STRIDES // 8)

    def length(self, axis: Any) -> Value:
        return self.f.load(I64, self.shape, axis)

    def axis(self, number: Any) -> tuple[Value, Value]:
        return self.length(number), self.stride(number)

    def fold(self, entry: Entry) -> tuple[Value, Value]:
        """All axes but the last as one: its length, and the stride along it."""
        f, last = self.f, self.ndim - 1
        entry.require_shape(self.ndim.equals(2) | (self.flags & 1).differs(0))
        rows = f.variable(f.integer(1))
        with f.loop(0, last) as axis:
            rows.set(rows.get() * self.length(axis))
        # NumPy counts an axis of length 1 as in one piece whatever its stride.
        return rows.get(), f.choose(self.ndim.equals(2), self.stride(last - 1), self.length(last))

    def stride(self, axis: Any) -> Value:
        return self.f.load(I64, self._strides, axis) >> 2


def _write(module: Any, name: str, form: Form) -> None:
    entry = Entry(module, name, 3 if form.adds else 2)
    f = entry.f
    slots = f.frame(I64, len(FIELDS) + AXIS_FIELDS * MOST_AXES)
    shape = f.frame(I64, MOST_DIMENSIONS)
    a, b = Operand(entry, entry.argument(0)), Operand(entry, entry.argument(1))
    matrices, axes = f.integer(1), f.integer(0)
    entry.require_shape((a.ndim >= 2) & (a.ndim <= MOST_DIMENSIONS))
    row_axis, inner_axis = a.ndim - 2, a.ndim - 1
    b_inner_axis, b_column_axis = b.ndim - 2, b.ndim - 1
    if form.b_transposed:
        b_inner_axis, b_column_axis = b_column_axis, b_inner_axis
    (m, a_row), (depth, a_inner) = a.axis(row_axis), a.axis(inner_axis)
    (b_depth, b_inner), (n, b_column) = b.axis(b_inner_axis), b.axis(b_column_axis)
    out_ndim = a.ndim
    if form.leading == "batch":
        entry.require_shape(a.ndim.equals(b.ndim) & (a.ndim <= MOST_AXES + 2))
        axes = row_axis
        matrices = _batch_axes(entry, a, b, axes, slots, shape)
        f.store(m, shape, row_axis)
    elif form.leading == "folded":
        entry.require_shape(b.ndim.equals(2))
        with f.loop(0, inner_axis) as axis:
            f.store(a.length(axis), shape, axis)
        m, a_row = a.fold(entry)
    else:
        out_ndim = f.integer(2)
        if form.leading == "transposed":
            entry.require_shape(b.ndim >= 2)
            m, a_row = depth, a_inner
            depth, a_inner = a.fold(entry)
            b_depth, b_inner = b.fold(entry)
        else:
            entry.require_shape(a.ndim.equals(2) & b.ndim.equals(2))
        f.store(m, shape, 0)
    entry.require_shape(b_depth.equals(depth))
    work = matrices * m * n * depth
    entry.require_shape(_worth_it(m, n, depth, work))
    d, d_row = _addend(entry, m, n) if form.adds else (f.null, f.integer(0))
    tiles().require(f, m)
    f.store(n, shape, out_ndim - 1)
    out = entry.new_array("f4", out_ndim.to(I32), shape)

    serial = work < SERIAL_BELOW
    column_groups, row_groups, rows_each = _groups(entry, m, n, matrices, serial)
    blocks = (depth + (DEPTH - 1)) // DEPTH
    values = {"a": a.data, "b": b.data, "c": data_of(f, out), "d": d, "a_row": a_row, "a_inner": a_inner,
              "b_inner": b_inner, "b_column": b_column, "d_row": d_row, "m": m, "n": n, "depth": depth,
              "block": (depth + blocks - 1) // blocks, "row_groups": row_groups, "rows_each": rows_each,
              "column_groups": column_groups, "axes": axes}
    for i, field in enumerate(FIELDS):
        f.store(values[field], slots, i)
    units = matrices * column_groups * row_groups
    entry.run(gemm_code.task(), slots, units, f.choose(serial, units + 1, 0), 1)
    entry.give(out)


def _worth_it(m: Value, n: Value, depth: Value, work: Value) -> Value:
    """Is it quicker than NumPy? Not if many lanes would be idle, nor for vectors."""
    lanes_used = n * 8 >= vectors_of(n) * (5 * host.host().lanes)
    few_rows = (m < 4) & (work <= 4 * TINY) & lanes_used
    matrices = (m >= 4) & (n >= 8) & (lanes_used | (work >= THREADED_BLAS))
    return (depth >= 2) & (work > 0) & ((work <= TINY) | few_rows | matrices)


def _batch_axes(entry: Entry, a: Operand, b: Operand, axes: Value, slots: Value, shape: Value) -> Value:
    """Leading axes, the last one first; gives the number of matrices."""
    f = entry.f
    matrices, unlike = f.variable(f.integer(1)), f.variable(f.integer(0))
    with f.loop(0, axes) as number:
        axis = axes - 1 - number
        lengths = [x.length(axis) for x in (a, b)]
        length = f.choose(lengths[0].equals(1), lengths[1], lengths[0])
        f.store(length, shape, axis)
        matrices.set(matrices.get() * length)
        at = number * AXIS_FIELDS + len(FIELDS)
        f.store(length, slots, at)
        for i, (x, own) in enumerate(zip((a, b), lengths, strict=True), 1):
            unlike.set(unlike.get() | (own.differs(length) & own.differs(1)).to(I64))
            f.store(f.choose(own.equals(1), 0, x.stride(axis)), slots, at + i)
    entry.require_shape(unlike.get().equals(0))
    return matrices.get()


def _addend(entry: Entry, m: Value, n: Value) -> tuple[Value, Value]:
    """What is added, and how far its rows are apart: nothing, one row for all, or a matrix."""
    f = entry.f
    given = entry.argument(2)
    data, row = f.variable(f.null), f.variable(f.integer(0))
    with f.when(~entry.same(given, "_Py_NoneStruct")):
        d = Operand(entry, given)
        last = d.ndim - 1
        entry.require_shape((last >= 0) & (last <= 1))
        entry.require_shape(d.length(last).equals(n) & (d.stride(last).equals(1) | n.equals(1)))
        with f.when(last.equals(1)):
            rows = d.length(0)
            entry.require_shape(rows.equals(m) | rows.equals(1))
            row.set(f.choose(rows.equals(1), 0, d.stride(0)))
        data.set(d.data)
    return data.get(), row.get()


def _groups(entry: Entry, m: Value, n: Value, matrices: Value, serial: Value) -> tuple[Value, Value, Value]:
    """How a matrix is shared out to the threads: groups of columns, groups of rows, and the rows of a group."""
    f = entry.f
    threads = f.load(I64, entry.object("whygrad_pool"), THREADS // 8)
    wanted = f.choose(serial, 1, (threads * PIECES_PER_THREAD + matrices - 1) // matrices)
    # Columns are divided first: a thread with other rows has to pack the same panels again.
    panels = (vectors_of(n) + (VECTORS - 1)) // VECTORS
    columns = f.variable(wanted)
    with f.repeat_while(lambda: columns.get() > panels):
        columns.set((columns.get() + 1) // 2)
    column_groups = columns.get()
    row_groups = (wanted + column_groups - 1) // column_groups
    rows_each = ((m + row_groups - 1) // row_groups + (tile_rows() - 1)) // tile_rows() * tile_rows()
    return column_groups, (m + rows_each - 1) // rows_each, rows_each


def _address(form: str) -> int:
    gemm_code.task()
    return address_of(f"product: {form}", lambda module, name: _write(module, name, FORMS[form]))


def there_are_products() -> bool:
    """Not on a processor that cannot multiply and add in one step."""
    return host.host().lanes > 4 or host.host().registers > 16


def product(form: str, other_kind: Callable[..., Any], other_shape: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A function of (a, b) or (a, b, d), as FORMS says, and what is called for other dtypes and for other shapes."""
    if not there_are_products():
        return other_kind
    return python_function(form, _address(form), (other_kind, other_shape or other_kind))


def mm(numpy: Callable[..., Any]) -> Callable[..., Any]:
    return product("mm", numpy)


def matmul_folded(numpy: Callable[..., Any]) -> Callable[..., Any]:
    multiply = product("mm", numpy_linear.mm)

    def other_shape(a: Any, b: Any) -> Any:
        """Rows that do not follow each other evenly are copied."""
        return multiply(a.reshape(-1, a.shape[-1]), b).reshape(*a.shape[:-1], b.shape[1]) if a.size else numpy(a, b)

    return product("mm_folded", numpy, other_shape)


def linear(numpy: Callable[..., Any]) -> Callable[..., Any]:
    return product("linear", numpy)


def linear_folded(numpy: Callable[..., Any]) -> Callable[..., Any]:
    multiply = product("linear", numpy_linear.linear)

    def other_shape(x: Any, weight: Any, bias: Any) -> Any:
        if not x.size:
            return numpy(x, weight, bias)
        return multiply(x.reshape(-1, x.shape[-1]), weight, bias).reshape(*x.shape[:-1], len(weight))

    return product("linear", numpy, other_shape)


def linear_backward(numpy: Callable[..., Any]) -> Callable[..., Any]:
    onward = matmul_folded(numpy_linear.matmul_folded)
    turned = product("mm_transposed", numpy_linear.transposed_product)
    sums = column_sums()

    def run(g: Any, x: Any, weight: Any, *, bias_shape: tuple[int, ...]) -> Any:
        total = sums(g, bias_shape[0]) if bias_shape == g.shape[-1:] else None
        if total is None:
            return numpy(g, x, weight, bias_shape=bias_shape)
        return onward(g, weight), turned(g, x), total

    return run


def matmul(numpy: Callable[..., Any]) -> Callable[..., Any]:
    multiply = product("matmul", numpy)

    def other_shape(a: Any, b: Any) -> Any:
        """Of another number of axes: missing ones are in front."""
        if a.ndim == b.ndim or min(a.ndim, b.ndim) < 2:
            return numpy(a, b)
        missing = (None,) * abs(a.ndim - b.ndim)
        return multiply(a[missing], b) if a.ndim < b.ndim else multiply(a, b[missing])

    return product("matmul", numpy, other_shape)


bmm = matmul


def addmm(numpy: Callable[..., Any]) -> Callable[..., Any]:
    plain = product("addmm", lambda a, b, c: numpy(c, a, b))

    def run(c: Any, a: Any, b: Any, *, beta: float = 1, alpha: float = 1) -> Any:
        return plain(a, b, c) if beta == 1 and alpha == 1 else numpy(c, a, b, beta=beta, alpha=alpha)

    return run


def contract(numpy: Callable[..., Any]) -> Callable[..., Any]:
    return partial(numpy, product=matmul(numpy_linear.matmul))
