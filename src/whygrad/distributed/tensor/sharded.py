"""DTensor, as far as `fully_shard` needs it: the rows that this rank has of a tensor which is split along its first dimension.

Its memory is that of the rows, so that an optimizer updates them as it does any tensor. Its shape is that of the whole. What
works row by row, or asks about the tensor, is passed on; all else would need the other ranks, and is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from whygrad.backends import raw
from whygrad.base.size import Size
from whygrad.core.tensor import Tensor, wrap
from whygrad.distributed import collectives
from whygrad.distributed.device_mesh import DeviceMesh
from whygrad.distributed.tensor.placement_types import Placement, Shard
from whygrad.functional.overriding import DisableTorchFunctionSubclass, as_instance
from whygrad.ops.table import TABLE

# What is passed on beside elementwise functions: each rank does it to its own rows.
PASSED_ON = frozenset((
    "clone", "copy_", "detach", "detach_", "double", "empty_like", "fill_", "float", "full_like", "ones_like",
    "register_hook", "register_post_accumulate_grad_hook", "requires_grad_", "retain_grad", "to", "zero_", "zeros_like"))


def is_row_by_row(name: str) -> bool:
    row = TABLE.get(name.strip("_"))
    return name in PASSED_ON or (row is not None and row.broadcasts)


class Rows:
    """How the first dimension is split: as `torch.chunk` does, the last ranks having fewer rows, or none."""

    def __init__(self, shape: Sequence[int], mesh: DeviceMesh) -> None:
        self.shape, self.mesh = tuple(shape), mesh
        count = mesh.size()
        each = -(-self.shape[0] // count)
        self.bounds = [(min(rank * each, self.shape[0]), min((rank + 1) * each, self.shape[0])) for rank in range(count)]

    def of(self, rank: int, array: np.ndarray) -> np.ndarray:
        begin, end = self.bounds[rank]
        return array[begin:end]

    def size(self, rank: int) -> int:
        """The number of elements that a rank has."""
        begin, end = self.bounds[rank]
        return (end - begin) * int(np.prod(self.shape[1:]))


class DTensor(Tensor):
    """A tensor that is split over the ranks of a mesh by its rows."""

    _rows: Rows

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("torch.distributed.tensor.DTensor(...): only fully_shard makes such tensors here")

    @staticmethod
    def over(array: np.ndarray, rows: Rows, requires_grad: bool = False) -> DTensor:
        """A leaf on the memory of this rank's rows."""
        return _as_dtensor(wrap(array), rows, requires_grad)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        rows = next(x._rows for x in args if isinstance(x, DTensor))
        getter = getattr(func, "__self__", None)
        if not isinstance(getter, property) and not is_row_by_row(func.__name__):
            raise NotImplementedError(f"{func.__name__} of a DTensor: take its full_tensor(), or its to_local()")
        if func.__name__ == "copy_":
            args = tuple([own_rows(x, rows) for x in args])
        elif any(isinstance(x, Tensor) and (not isinstance(x, DTensor) or x._rows.shape[0] != rows.shape[0]) and x._array.ndim
                 for x in args):
            raise RuntimeError(f"{func.__name__} got mixed torch.Tensor and DTensor, or DTensors that are not split alike: need "
                               "to convert all torch.Tensor to DTensor before calling distributed operators!")
        with DisableTorchFunctionSubclass():
            result = func(*args, **(kwargs or {}))
        own = rows.of(rows.mesh.get_local_rank(), np.empty(rows.shape, np.bool_)).shape
        if type(result) is Tensor and result._array.shape == own:
            return _as_dtensor(result, rows, result._indirect and result._node is None)
        return result

    # What shows of it is the whole.

    @property
    def shape(self) -> Any:  # type: ignore[override]
        return Size(self._rows.shape)

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self._rows.shape[dim]

    def numel(self) -> int:
        return int(np.prod(self._rows.shape))

    nelement = numel

    def __len__(self) -> int:
        return self._rows.shape[0]

    def __repr__(self) -> str:
        return f"DTensor(local_tensor={self.to_local()!r}, device_mesh={self.device_mesh!r}, placements={self.placements!r})"

    def __deepcopy__(self, memo: dict[int, Any]) -> DTensor:
        memo[id(self)] = copied = DTensor.over(self._array.copy(), self._rows, self._indirect)
        return copied

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise NotImplementedError("a DTensor in a file: save what get_model_state_dict(..., full_state_dict=True) gives, or use "
                                  "torch.distributed.checkpoint")

    @property
    def device_mesh(self) -> DeviceMesh:
        return self._rows.mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        return (Shard(0),)

    def to_local(self, *, grad_placements: Any = None) -> Tensor:
        """The rows of this rank, in the same memory."""
        local = wrap(self._array)
        local._lazy_version = self._version_counter
        return local

    def full_tensor(self, *, grad_placements: Any = None) -> Tensor:
        """All rows, in every rank. All ranks call this."""
        (whole,) = gathered([self])
        return wrap(whole)

    def _norm_of_all_ranks(self, local: np.ndarray, order: float) -> np.ndarray:
        """The norm of what has this norm in each rank; clip_grad_norm_ asks for it."""
        group = self.device_mesh.get_group()
        norms = np.zeros(group.size(), local.dtype)
        norms[group.rank()] = local
        collectives.all_reduce(wrap(norms), group=group)
        return np.asarray(raw.vector_norm(norms, ord=order))


def _as_dtensor(t: Tensor, rows: Rows, requires_grad: bool) -> DTensor:
    made: DTensor = as_instance(DTensor, t)
    made._indirect = made._indirect or requires_grad
    made._rows = rows
    return made


def own_rows(x: Any, rows: Rows) -> Any:
    """Of a whole tensor, what belongs to this rank; anything else as it is."""
    if isinstance(x, Tensor) and not isinstance(x, DTensor) and x._array.shape == rows.shape:
        return wrap(rows.of(rows.mesh.get_local_rank(), x._array))
    return x


def gathered(tensors: Sequence[DTensor]) -> list[np.ndarray]:
    """The whole arrays of several tensors of one dtype and mesh, in one message."""
    group = tensors[0].device_mesh.get_group()
    counts = [sum(t._rows.size(rank) for t in tensors) for rank in range(group.size())]
    sent = np.concatenate([t._array.reshape(-1) for t in tensors])
    buffer = np.empty(sum(counts), sent.dtype)
    bytes_of = [count * sent.itemsize for count in counts]
    received = [collectives.octets(buffer), bytes_of]
    call = "all_gather", sent.dtype.name, buffer.size
    collectives.begin(group, call, lambda: group.comm.Iallgatherv(collectives.octets(sent), received), [], None,
                      (sent, buffer)).wait()
    wholes = [np.empty(t._rows.shape, sent.dtype) for t in tensors]
    begin = 0
    for rank in range(group.size()):
        for t, whole in zip(tensors, wholes, strict=True):
            part = t._rows.of(rank, whole)
            part[...] = buffer[begin:begin + part.size].reshape(part.shape)
            begin += part.size
    return wholes
