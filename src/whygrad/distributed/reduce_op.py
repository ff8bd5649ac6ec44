"""ReduceOp, and what MPI reduces with for each dtype."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from whygrad.distributed import mpi


class RedOpType(Enum):
    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM, UNUSED = range(10)

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"


class _ReduceOpMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, RedOpType)


class ReduceOp(metaclass=_ReduceOpMeta):
    """How the numbers of all ranks become one."""

    RedOpType = RedOpType
    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM, UNUSED = RedOpType

    def __new__(cls, op: Any) -> Any:
        return op


reduce_op = ReduceOp

_MPI_NAMES = {RedOpType.SUM: "SUM", RedOpType.AVG: "SUM", RedOpType.PRODUCT: "PROD", RedOpType.MIN: "MIN", RedOpType.MAX: "MAX",
              RedOpType.BAND: "BAND", RedOpType.BOR: "BOR", RedOpType.BXOR: "BXOR"}
# Of booleans: a sum is "or", a product "and".
_LOGICAL = {RedOpType.SUM: "LOR", RedOpType.MAX: "LOR", RedOpType.BOR: "LOR", RedOpType.PRODUCT: "LAND", RedOpType.MIN: "LAND",
            RedOpType.BAND: "LAND", RedOpType.BXOR: "LXOR"}
_BITWISE = (RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR)


_HALF: dict[RedOpType, Any] = {RedOpType.SUM: np.add, RedOpType.AVG: np.add, RedOpType.PRODUCT: np.multiply,
                               RedOpType.MIN: np.minimum, RedOpType.MAX: np.maximum}


def _half_operation(MPI: Any, combine: Any, dtype: np.dtype[Any]) -> Any:
    """MPI has no 16-bit floats, but takes functions of ours."""
    def operate(incoming: Any, total: Any, datatype: Any) -> None:
        into = np.frombuffer(total, dtype)
        combine(np.frombuffer(incoming, dtype), into, out=into)

    return MPI.Op.Create(operate, commute=True)


class Reduction:
    """What a reduction of one dtype needs: MPI's operation, and what is done at the end."""

    def __init__(self, op: RedOpType, dtype: np.dtype[Any]) -> None:
        MPI = mpi.load()
        kind = dtype.kind
        if op not in _MPI_NAMES:
            raise NotImplementedError(f"ReduceOp.{op.name}")
        if op in _BITWISE and kind not in "iub":
            raise RuntimeError(f"Cannot use ReduceOp.{op.name} with non-integral dtype")
        if op is RedOpType.AVG and kind in "iub":
            raise RuntimeError("result type Float can't be cast to the desired output type "
                               f"{'Bool' if kind == 'b' else dtype.name.capitalize()}")
        if kind == "c" and op in (RedOpType.MIN, RedOpType.MAX):
            raise RuntimeError(f"all_reduce does not support ReduceOp.{op.name} on complex tensors")
        self.operation = getattr(MPI, (_LOGICAL if kind == "b" else _MPI_NAMES)[op])
        self.is_half = dtype.itemsize == 2 and kind in "fV"
        if self.is_half:
            self.operation = _half_operation(MPI, _HALF[op], dtype)
        self.is_average = op is RedOpType.AVG
        self.words = f"op={op.name}, {dtype.name}"

    def memory(self, array: np.ndarray) -> np.ndarray:
        """What MPI sees of a contiguous array."""
        return array.view(np.uint16) if self.is_half else array

    def average(self, total: np.ndarray, size: int) -> None:
        np.divide(total, size, out=total)


_reductions: dict[tuple[RedOpType, np.dtype[Any]], Reduction] = {}


def reduction(op: Any, dtype: np.dtype[Any]) -> Reduction:
    key = op, dtype
    found = _reductions.get(key)
    if found is None:
        if not isinstance(op, RedOpType):
            raise TypeError(f"Expected a ReduceOp, got {type(op).__name__}")
        found = _reductions[key] = Reduction(op, dtype)
    return found
