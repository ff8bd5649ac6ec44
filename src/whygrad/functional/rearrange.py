"""Copies in another order: repeated, flipped, rolled, cut to a triangle, put on a diagonal, padded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from whygrad.base.door import Policy
from whygrad.base.index_width import intp
from whygrad.core.tensor import Tensor, wrap
from whygrad.functional import arguments
from whygrad.functional.dims import normalize_dim
from whygrad.functional.fresh import in_usual_order
from whygrad.functional.run import nn_function, public, rows, with_out, write
from whygrad.functional.shape import dim_of, dims_of, flatten, ravel, sizes


@public(function=False)
def repeat(self: Any, *given: Any, repeats: Any = None) -> Tensor:
    """The tensor several times over along each dim."""
    counts = sizes("repeat", given, repeats, "repeats")
    array = self._array
    if len(counts) < array.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if min(counts, default=0) < 0:
        shape = [n * c for n, c in zip((1,) * (len(counts) - array.ndim) + array.shape, counts, strict=True)]
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(shape)}: {shape}")
    return rows.repeat(self, repeats=counts)


@public(function=False)
def tile(input: Any, *given: Any, dims: Any = None) -> Tensor:
    """Like repeat, but missing leading dims count as 1."""
    counts = sizes("tile", given, dims, "dims")
    return repeat(input, (1,) * (input._array.ndim - len(counts)) + counts)


@public(method=False, name="tile")
def _tile(input: Any, dims: Any) -> Tensor:
    return tile(arguments.read_tensor("tile", input), arguments.read_sizes("tile", dims, "dims", 2))


@public()
def repeat_interleave(input: Any, repeats: Any = None, dim: int | None = None, *,
                      output_size: int | None = None) -> Tensor:
    """Each element several times; without `dim`, of the flattened tensor."""
    if repeats is None and dim is None and isinstance(input, Tensor):
        return _counted_positions(input, output_size)
    if not (isinstance(input, Tensor) and (isinstance(repeats, Tensor) or arguments.is_integer(repeats))
            and (dim is None or arguments.is_integer(dim))):
        raise arguments.invalid_combination("repeat_interleave", input, repeats, dim)
    if dim is None:
        input, dim = flatten(input), 0
    axis = dim_of("repeat_interleave", input, dim, position=3)
    shape = input._array.shape
    if not shape:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    if not isinstance(repeats, Tensor):
        repeats = arguments.read_int("repeat_interleave", "repeats", 2, repeats)
        if repeats < 0:
            raise RuntimeError("Repeats must be non-negative")
        if output_size is not None and output_size != shape[axis] * repeats:
            raise RuntimeError(f"repeat_interleave: Invalid output_size, expected {shape[axis] * repeats} but got {output_size}")
        wide = rows.expand(rows.unsqueeze(input, axis=axis + 1), shape=(*shape[:axis + 1], repeats, *shape[axis + 1:]))
        return rows.view(rows.clone(wide, order="C"), shape=(*shape[:axis], shape[axis] * repeats, *shape[axis + 1:]))
    counts = repeats._array
    if counts.ndim > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if counts.size == 1:
        counts = np.broadcast_to(counts.reshape(1), (shape[axis],))
    elif len(counts) != shape[axis]:
        raise RuntimeError("repeats must have the same size as input along dim, but got repeats.size(0) = "
                           f"{len(counts)} and input.size({axis}) = {shape[axis]}")
    return rows.index_select(input, _counted_positions(wrap(counts), output_size), axis=axis)


def _counted_positions(repeats: Tensor, output_size: int | None) -> Tensor:
    """0 as often as the first count says, then 1 as often as the second says, ..."""
    counts = repeats._array
    if counts.dtype.kind not in "iu" or counts.dtype.itemsize < 4:
        raise NotImplementedError(f'"repeat_interleave_cpu" not implemented for \'{repeats.dtype.scalar_name}\'')
    if counts.ndim != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if counts.size and counts.min() < 0:
        raise RuntimeError("repeats can not be negative")
    if output_size is not None and output_size != counts.sum():
        raise RuntimeError("allocated size does not match required size")
    return wrap(np.repeat(np.arange(len(counts)), intp(counts)).astype(counts.dtype, copy=False))


@public(function=False)
def flip(input: Any, *given: Any, dims: Any = None) -> Tensor:
    """The order of elements reversed along these dims."""
    axes = dims_of(input, sizes("flip", given, dims, "dims"))
    return rows.flip(input, axes=axes if input._array.ndim else ())


@public(method=False, name="flip")
def _flip(input: Any, dims: Any) -> Tensor:
    return flip(arguments.read_tensor("flip", input), arguments.read_sizes("flip", dims, "dims", 2))


def _flip_along(name: str, axis: int) -> None:
    def flipped(input: Any) -> Tensor:
        if arguments.read_tensor(name, input)._array.ndim <= axis:
            raise RuntimeError(f"Input must be >= {axis + 1}-d.")
        return rows.flip(input, axes=(axis,))

    public(name=name, doc=f"Reversed along dim {axis}.")(flipped)


_flip_along("fliplr", 1)
_flip_along("flipud", 0)


@public()
def roll(input: Any, shifts: Any, dims: Any = None) -> Tensor:
    """Elements moved along dims; what leaves at one end returns at the other."""
    arguments.read_tensor("roll", input)
    moves = arguments.read_dims("roll", shifts, "shifts", 2)
    axes = () if dims is None else arguments.read_dims("roll", dims, "dims", 3)
    if not moves:
        raise RuntimeError("`shifts` required")
    if not axes and len(moves) == 1:
        return rows.roll(input, shifts=moves, axes=None)
    if len(moves) == len(axes) == 1 and not input._array.size:
        return rows.roll(input, shifts=moves, axes=None)  # whatever the dim is
    if len(moves) != len(axes):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(moves)}, dims:{len(axes)}")
    if not input._array.ndim:
        raise IndexError(f"Dimension specified as {axes[0]} but tensor has no dimensions")
    return rows.roll(input, shifts=moves, axes=tuple([normalize_dim(dim, input._array.ndim) for dim in axes]))


@public()
def rot90(input: Any, k: int = 1, dims: Any = (0, 1)) -> Tensor:
    """Turned by 90 degrees `k` times, from the first of the two dims towards the second."""
    arguments.read_tensor("rot90", input)
    k, dims = arguments.read_int("rot90", "k", 2, k), arguments.read_sizes("rot90", dims, "dims", 3)
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    ndim = input._array.ndim
    if ndim < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {ndim}")
    axes = normalize_dim(dims[0], ndim), normalize_dim(dims[1], ndim)
    if axes[0] == axes[1]:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    return rows.rot90(input, k=k, axes=axes)


def _triangle(name: str, doc: str) -> None:
    def check(name: str, input: Tensor, diagonal: Any) -> int:
        arguments.read_tensor(name, input)
        diagonal = arguments.read_int(name, "diagonal", 2, diagonal)
        if input._array.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        return diagonal

    def triangle(input: Any, diagonal: int = 0, *, out: Any = None) -> Tensor:
        return with_out(name, getattr(rows, name)(input, diagonal=check(name, input, diagonal)), out, input)

    def inplace(self: Any, diagonal: int = 0) -> Tensor:
        return write(name, self, self, diagonal=check(name, self, diagonal))

    public(name=name, doc=doc)(triangle)
    public(name=f"{name}_", doc=f"{doc} In place.", function=False)(inplace)


_triangle("tril", "The part of each matrix on and below a diagonal; zeros elsewhere.")
_triangle("triu", "The part of each matrix on and above a diagonal; zeros elsewhere.")


@public()
def diag(input: Any, diagonal: int = 0, *, out: Any = None) -> Tensor:
    """The diagonal of a matrix, or the matrix with this diagonal."""
    ndim = arguments.read_tensor("diag", input)._array.ndim
    diagonal = arguments.read_int("diag", "diagonal", 2, diagonal)
    if ndim not in (1, 2):
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {ndim}D")
    result = diag_embed(input, diagonal) if ndim == 1 else rows.diagonal_copy(input, offset=diagonal)
    return with_out("diag", result, out, input)


@public()
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices in dims `dim1` and `dim2`, whose diagonals are the last dim of the input."""
    arguments.read_tensor("diag_embed", input)
    offset = arguments.read_int("diag_embed", "offset", 2, offset)
    axis1 = dim_of("diag_embed", input, dim1, "dim1", 3, extra=1)
    axis2 = dim_of("diag_embed", input, dim2, "dim2", 4, extra=1)
    if axis1 == axis2:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    *rest, n = input._array.shape
    n += abs(offset)
    outer = iter(rest)
    shape = tuple([n if axis in (axis1, axis2) else next(outer) for axis in range(len(rest) + 2)])
    return rows.diag_embed(input, shape=shape, offset=offset, axis1=axis1, axis2=axis2)


@public()
def diagflat(input: Any, offset: int = 0) -> Tensor:
    """The matrix whose diagonal is the flattened input."""
    return diag_embed(ravel(arguments.read_tensor("diagflat", input)), arguments.read_int("diagflat", "offset", 2, offset))


PAD_MODES = {"reflect": "Reflection", "replicate": "Replication", "circular": "circular"}


@nn_function(autocast=Policy("float32", lambda given: given["mode"] == "replicate" or (
    given["mode"] == "reflect" and len(given["pad"]) <= 4)))
def pad(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Tensor:
    """`torch.nn.functional.pad`: `pad` is (before, after) of the last dim, then of the one before it, ..."""
    if not isinstance(input, Tensor):
        raise arguments.wrong_type("pad", "input", 1, "Tensor", input)
    amounts = arguments.read_sizes("pad", pad, "pad", 2)
    shape = input._array.shape
    pairs = padding_by_dim(amounts, shape)
    if mode == "constant":
        return constant_pad(input, pairs, 0 if value is None else arguments.read_float("pad", "value", 4, value))
    padded = len(amounts) // 2
    pairs = pairs[len(shape) - padded:]
    if mode not in PAD_MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if not (1 <= padded <= 3 and len(shape) in (padded + 1, padded + 2)):
        raise NotImplementedError(
            f"Padding size {len(amounts)} is not supported for {len(shape)}D input tensor.\nSupported combinations for "
            "non-constant padding:\n  - 2D or 3D input: padding size = 2 (pads last dimension)\n  - 3D or 4D input: "
            "padding size = 4 (pads last 2 dimensions)\n  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)")
    if mode != "circular" and 0 in shape[len(shape) - padded - 1:]:
        raise RuntimeError(f"Expected {padded + 1}D or {padded + 2}D (batch mode) tensor with possibly 0 batch size and other "
                           f"non-zero dimensions for input, but got: {list(shape)}")
    sources = tuple([(axis, _padding_source(mode, axis, before, after, shape))
                     for axis, (before, after) in reversed(list(enumerate(pairs, len(shape) - padded)))])
    if mode != "circular" and input._array.dtype.kind == "b":
        name = "reflection" if mode == "reflect" else "replication"
        raise NotImplementedError(f"\"{name}_pad{padded}d\" not implemented for 'Bool'")
    result = rows.mirror_pad(input, sources=sources, mode=PAD_MODES[mode])
    return in_usual_order(result) if mode == "circular" else result


def padding_by_dim(amounts: Sequence[int], shape: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """(before, after) of every dim, the first one first."""
    if len(amounts) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(amounts) > 2 * len(shape):
        raise RuntimeError("Padding length should be less than or equal to two times the input dimension but got "
                           f"padding length {len(amounts)} and input of dimension {len(shape)}")
    pairs = [(amounts[i], amounts[i + 1]) for i in range(0, len(amounts), 2)]
    return tuple([(0, 0)] * (len(shape) - len(pairs)) + pairs[::-1])


def constant_pad(input: Tensor, pads: tuple[tuple[int, int], ...], value: Any) -> Tensor:
    for n, (before, after) in zip(input._array.shape, pads, strict=True):
        if n + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
    if value:
        arguments.check_range(value, input.dtype)
    kind = input._array.dtype.kind
    number = value if kind in "fcV" else bool(value) if kind == "b" else int(value)
    return rows.constant_pad(input, pads=pads, value=number)


def _padding_source(mode: str, axis: int, before: int, after: int, shape: tuple[int, ...]) -> np.ndarray:
    """Where each element of the padded axis comes from."""
    n = shape[axis]
    if n + before + after < 1:
        letter = "DHW"[axis - len(shape)]
        raise RuntimeError(f"input ({letter}: {n}) is too small. Calculated output {letter}: {n + before + after}")
    places = np.arange(-before, n + after)
    if mode == "replicate":
        return places.clip(0, n - 1)
    if mode == "circular":
        if before > n or after > n:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        # What is cut off is cut off first, and the rest goes round.
        start, kept = max(-before, 0), n + min(before, 0) + min(after, 0)
        return start + np.arange(-max(before, 0), kept + max(after, 0)) % kept
    if before >= n or after >= n:
        raise RuntimeError(f"Argument #{4 + 2 * (len(shape) - 1 - axis)}: Padding size should be less than the "
                           f"corresponding input dimension, but got: padding ({before}, {after}) at dimension {axis} "
                           f"of input {list(shape)}")
    places = np.abs(places)
    return np.where(places >= n, 2 * (n - 1) - places, places)
