"""Sequences of different lengths: padded into one tensor, or packed for recurrent layers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, Self

import numpy as np

import whygrad as torch
from whygrad.base import dtypes
from whygrad.base.index_width import int64
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor, wrap
from whygrad.functional.arguments import type_name
from whygrad.ops.table import TABLE


class PackedSequence_(NamedTuple):
    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


class PackedSequence(PackedSequence_):
    """The elements of all sequences, time step by time step, each step with the sequences that last so long, longest first.

    `batch_sizes[t]` is their number. `sorted_indices` is the permutation that sorted the sequences, or None.
    """

    def __new__(cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None) -> Self:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def pin_memory(self) -> PackedSequence:
        return type(self)(self.data.pin_memory(), *self[1:])

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Convert the data, as `Tensor.to` does."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else type(self)(data, *self[1:])

    def cpu(self, *args: Any, **kwargs: Any) -> PackedSequence:
        return self.to(*args, **{"device": "cpu", **kwargs})

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        return type(self)(self.data.cuda(*args, **kwargs), *self[1:])

    @property
    def is_cuda(self) -> bool:
        found: bool = self.data.is_cuda
        return found

    def is_pinned(self) -> bool:
        found: bool = self.data.is_pinned()
        return found


def _converting(name: str, dtype: dtypes.dtype) -> Any:
    def convert(self: PackedSequence) -> PackedSequence:
        return self.to(dtype=dtype)

    convert.__name__ = convert.__qualname__ = name
    return convert


for _name, _dtype in {"double": dtypes.float64, "float": dtypes.float32, "half": dtypes.float16, "long": dtypes.int64,
                      "int": dtypes.int32, "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8}.items():
    setattr(PackedSequence, _name, _converting(_name, _dtype))


def invert_permutation(permutation: Any) -> Any:
    """The inverse of a permutation."""
    return None if permutation is None else wrap(int64(np.argsort(permutation._array, kind="stable")))


def pack_padded_sequence(input: Any, lengths: Any, batch_first: bool = False,
                         enforce_sorted: bool = True) -> PackedSequence:
    """Pack padded sequences (T, B, ...), or (B, T, ...) if `batch_first`, of the given lengths."""
    if not isinstance(input, Tensor):
        raise TypeError(f"_pack_padded_sequence(): argument 'input' (position 1) must be Tensor, not {type_name(input)}")
    padded: Any = input
    found = np.asarray(lengths._array if isinstance(lengths, Tensor) else lengths).astype(np.int64)
    order = None
    if not enforce_sorted:
        order = int64(np.argsort(-found, kind="stable"))
        found = found[order]
        padded = padded.index_select(0 if batch_first else 1, wrap(order))
    if batch_first:
        padded = padded.transpose(0, 1)
    _check_lengths(padded, found)
    sizes = (found[:, None] > np.arange(found[0])).sum(axis=0, dtype=np.int64)
    data = apply(TABLE["pack_padded_sequence"], padded, sizes=tuple(sizes.tolist()))
    return PackedSequence(data, wrap(sizes), None if order is None else wrap(order))


def _check_lengths(input: Any, lengths: np.ndarray) -> None:
    if not input._array.size:
        raise RuntimeError("Cannot pack empty tensors.")
    if lengths.ndim != 1:
        raise RuntimeError(f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.ndim}D cpu Long tensor")
    batch = input.size(1)
    if len(lengths) != batch:
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} "
                           f"(batch_size={batch})")
    if lengths[-1] <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is "
                           "<= 0")
    if (np.diff(lengths) > 0).any():
        raise RuntimeError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can "
                           "pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this "
                           "requirement if you do not need ONNX exportability.")


def pad_packed_sequence(sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0,
                        total_length: int | None = None) -> tuple[Any, Any]:
    """(padded sequences, lengths)."""
    sizes = sequence.batch_sizes._array
    steps = len(sizes)
    if total_length is not None:
        if total_length < steps:
            raise ValueError("Expected total_length to be at least the length of the longest sequence in input, but got "
                             f"total_length={total_length} and max sequence length being {steps}")
        steps = total_length
    data = sequence.data
    batch = int(sizes[0])
    padded = apply(TABLE["pad_packed_sequence"], data, shape=(steps, batch, *data._array.shape[1:]),
                   sizes=tuple(sizes.tolist()), value=padding_value)
    lengths = (sizes > np.arange(batch)[:, None]).sum(axis=1, dtype=np.int64)
    if batch_first:
        padded = padded.transpose(0, 1)
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(0 if batch_first else 1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices._array]
    return padded, wrap(lengths)


def pad_sequence(sequences: Any, batch_first: bool = False, padding_value: float = 0.0,
                 padding_side: str = "right") -> Any:
    """Stack the sequences, padded to the length of the longest."""
    if not isinstance(sequences, Iterable):
        raise RuntimeError(f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}")
    listed: list[Any] = list(sequences)
    for i, sequence in enumerate(listed):
        if not isinstance(sequence, Tensor):
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(sequence).__name__}")
    if not listed:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    first = listed[0]
    for sequence in listed[1:]:
        for dim, (a, b) in enumerate(zip(first._array.shape, sequence._array.shape, strict=False)):
            if dim and a != b:
                raise RuntimeError(f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton "
                                   f"dimension {dim}")
    return apply(TABLE["pad_sequence"], *[sequence.to(first.dtype) for sequence in listed],
                 length=max(len(sequence._array) for sequence in listed), batch_axis=0 if batch_first else 1,
                 value=padding_value, left=padding_side == "left")


def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """A list of the sequences without padding. As in torch, a tensor that is not batch-first is transposed in place."""
    if not batch_first:
        padded_sequences.transpose_(0, 1)
    index = torch.arange(padded_sequences.shape[1])
    return [sequence[index < length] for sequence, length in zip(padded_sequences, lengths, strict=True)]


def pack_sequence(sequences: list[Any], enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of sequences."""
    lengths = [sequence.size(0) for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Any]:
    """Unpack into a list of sequences."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
