"""`repr(tensor)`, character for character as PyTorch prints it.

It is done in four steps, one function each:

    _corners    which elements are shown (all of them, or the edges of each axis of a long tensor)
    _cells      those elements as text, every one in the same notation, padded to a common width
    _layout     the nested brackets, with lines filled up to the line width
    _append     the suffixes: `size=`, `dtype=`, `requires_grad=` and the like

This file works on arrays and does not depend on Tensor.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

__all__ = ["format_tensor", "get_printoptions", "printoptions", "set_printoptions"]


class _Options(NamedTuple):
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES = {
    "default": _Options(),
    "short": _Options(precision=2, edgeitems=2),
    "full": _Options(threshold=math.inf),
}

_options = _Options()


def current_options() -> _Options:
    return _options


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed; arguments left at None keep their value, except `sci_mode`.

    precision: digits after the decimal point.
    threshold: a tensor with more elements than this is summarised.
    edgeitems: how many elements a summary shows at either end of an axis.
    linewidth: columns to fill before a line is broken.
    profile: "default", "short" or "full", a set of values which the other arguments then override.
    sci_mode: scientific notation always (True), never (False), or where the values call for it (None).
        Every call sets it, so a call without it returns to None, as in PyTorch.
    """
    global _options
    # As in PyTorch, an unknown profile is ignored.
    base = _options if profile is None else _PROFILES.get(profile, _options)
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    _options = base._replace(sci_mode=sci_mode, **changes)


def get_printoptions() -> dict[str, Any]:
    """The current options, as keyword arguments for `set_printoptions`."""
    return _options._asdict()


@contextmanager
def printoptions(**kwargs: Any) -> Iterator[None]:
    """Apply `set_printoptions(**kwargs)` to the block, then restore the previous options."""
    global _options
    before = _options
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        _options = before


def format_tensor(
    array: np.ndarray,
    *,
    dtype_name: str,
    default_dtype_names: tuple[str, str, str] = ("float32", "complex64", "int64"),
    suffixes: Sequence[str] = (),
    prefix: str = "tensor(",
    indent: int = 0,
    contents: str | None = None,
) -> str:
    """The repr of a tensor that holds `array`; `contents` is printed in place of its values.

    `dtype_name` is the tensor's dtype ("bfloat16"), which the array's own may only approximate. It is printed
    unless it is one of `default_dtype_names` (the default floating, complex and integer dtype, in this order)
    or visible in the values. `suffixes` come last, such as "requires_grad=True". `prefix` opens the text, and
    `indent` is the column where the caller puts it.
    """
    options = _options
    default_float = default_dtype_names[0]
    size = f"size={tuple(array.shape)}"
    dtype = f"dtype=torch.{dtype_name}"
    notes = []
    if array.size == 0:
        if array.ndim != 1:
            notes.append(size)
        # Without values even an integer or boolean dtype has to be named.
        if dtype_name != default_float:
            notes.append(dtype)
    else:
        if options.edgeitems == 0:
            notes.append(size)
        if dtype_name not in (*default_dtype_names, "bool"):
            notes.append(dtype)

    column = indent + len(prefix.rpartition("\n")[2])
    body = _body(array, column, options) if contents is None else contents
    return prefix + _append(body, [*notes, *suffixes], column, options) + ")"


def _body(array: np.ndarray, column: int, options: _Options) -> str:
    if array.size == 0:
        return "[]"
    edge = options.edgeitems
    summarise = array.ndim > 0 and array.size > options.threshold
    if summarise and edge == 0:
        return "[...]"
    cuts = [summarise and length > 2 * edge for length in array.shape]
    shown = _corners(array, cuts, edge) if summarise else array
    texts, width = _cells(shown, options)
    cells = np.array(texts, dtype=object).reshape(shown.shape)
    room = options.linewidth - column - max(array.ndim - 1, 0)
    per_line = max(1, math.floor(room / (width + len(", "))))
    return _layout(cells, cuts, edge, column, per_line)


def _corners(array: np.ndarray, cuts: Sequence[bool], edge: int) -> np.ndarray:
    kept = [
        [*range(edge), *range(length - edge, length)] if cut else range(length)
        for length, cut in zip(array.shape, cuts, strict=True)
    ]
    return array[np.ix_(*kept)]


def _cells(array: np.ndarray, options: _Options) -> tuple[list[str], int]:
    """Every element as text, in row-major order, and the width per element that line filling assumes."""
    values = array.ravel()
    if array.dtype.kind in "biu":
        texts = [str(value) for value in values.tolist()]
        return _padded(texts, max(map(len, texts)))
    if array.dtype.kind != "c":
        return _float_cells(values, options)
    reals, real_width = _float_cells(values.real, options)
    imags, imag_width = _float_cells(values.imag, options)
    # The imaginary part follows its sign without padding, although line filling counts its full width.
    signed = (imag if imag.startswith("-") else "+" + imag for imag in map(str.lstrip, imags))
    joined = [f"{real}{imag}j" for real, imag in zip(reals, signed, strict=True)]
    return joined, real_width + imag_width + len("j")


def _float_cells(array: np.ndarray, options: _Options) -> tuple[list[str], int]:
    # float() also accepts scalars of dtypes NumPy lacks, such as bfloat16, and is exact for all of them.
    values = [float(value) for value in array.tolist()]
    # Zeros, infinities and NaNs decide neither the notation nor the width.
    counts = [bool(value) and math.isfinite(value) for value in values]
    counted = list(compress(values, counts))
    scientific = bool(counted) and _wants_scientific(counted, options)
    whole = not scientific and all(value.is_integer() for value in counted)
    if whole:
        texts = [f"{value:.0f}." if math.isfinite(value) else f"{value}" for value in values]
    else:
        spec = f".{options.precision}{'e' if scientific else 'f'}"
        texts = [format(value, spec) for value in values]
    return _padded(texts, max(map(len, compress(texts, counts)), default=1))


def _wants_scientific(values: Sequence[float], options: _Options) -> bool:
    if options.sci_mode is not None:
        return options.sci_mode
    sizes = [abs(value) for value in values]
    smallest, largest = min(sizes), max(sizes)
    return largest / smallest > 1000 or largest > 1e8 or smallest < 1e-4


def _padded(texts: Sequence[str], width: int) -> tuple[list[str], int]:
    return [text.rjust(width) for text in texts], width


def _layout(cells: np.ndarray, cuts: Sequence[bool], edge: int, column: int, per_line: int) -> str:
    """Brackets around `cells`, opened in `column`; a summarised axis gets dots after `edge` items."""
    if cells.ndim == 0:
        return str(cells.item())
    if cells.ndim == 1:
        items = cells.tolist()
        if cuts[0]:
            items.insert(edge, " ...")
        rows = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
    else:
        rows = [_layout(row, cuts[1:], edge, column + 1, per_line) for row in cells]
        if cuts[0]:
            rows.insert(edge, "...")
    # A blank line separates matrices, two separate blocks of matrices, and so on.
    newlines = "\n" * max(1, cells.ndim - 1)
    return "[" + f",{newlines}{' ' * (column + 1)}".join(rows) + "]"


def body(array: np.ndarray, column: int) -> str:
    """The values alone, with the first bracket in `column`."""
    return _body(array, column, _options)


def append_notes(text: str, notes: Sequence[str], column: int, new_line: bool) -> str:
    """The text with the suffixes of a sparse tensor; on a new line if `new_line`."""
    return _append(text, notes, column, _options, new_line)


def _append(body: str, notes: Sequence[str], column: int, options: _Options, new_line: bool = False) -> str:
    last_line = body.rpartition("\n")[2]
    # PyTorch counts the last line of values as two columns longer than it is.
    used = len(last_line) + 2 + (column if last_line == body else 0)
    parts = [body]
    for note in notes:
        if new_line or used + len(", ") + len(note) > options.linewidth:
            new_line = False
            parts.append(f",\n{' ' * column}{note}")
            used = column + len(note)
        else:
            parts.append(f", {note}")
            used += len(", ") + len(note)
    return "".join(parts)
