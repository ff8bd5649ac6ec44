"""Batches of a row's samples, and what the row must give for them: the same as for one element after the other."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from row_checks import Constant, Sample, as_list

from whygrad.autograd.batched import batched
from whygrad.autograd.batching import VmapLevel
from whygrad.core.door import entered
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor, wrap
from whygrad.ops.table import Row

SIZE = 3


def variants(x: np.ndarray) -> np.ndarray:
    """A batch of arrays that are as good as `x` is: numbers a little smaller, positions in another order."""
    if x.dtype.kind in "fc":
        return np.stack([x * (1 - 0.03 * i) for i in range(SIZE)])
    return np.stack([np.roll(x, i, -1) if x.ndim else x for i in range(SIZE)])


def choices(sample: Sample) -> Iterator[list[bool]]:
    """Which arguments have a batch: all of them, and each alone."""
    arrays = [isinstance(x, (np.ndarray, np.generic, Constant)) for x in sample.inputs]
    yield arrays
    if sum(arrays) > 1:
        for i, is_array in enumerate(arrays):
            if is_array:
                yield [k == i for k in range(len(arrays))]


class Batch:
    """The arguments of a sample, of which those chosen have a batch in front."""

    def __init__(self, row: Row, sample: Sample, chosen: list[bool]) -> None:
        self.row, self.statics, self.chosen = row, sample.statics, chosen
        tracked = sample.tracked(row)
        self.tensors: list[Any] = []
        for i, (x, has) in enumerate(zip(sample.inputs, chosen, strict=True)):
            array = x.array if isinstance(x, Constant) else x
            if isinstance(array, (np.ndarray, np.generic)):
                array = np.asarray(array)
                fixed = not row.variadic and row.inputs[i] == "bag"  # in another order it would be none
                t = wrap(np.stack([array] * SIZE) if has and fixed else variants(array) if has else array.copy())
                t._indirect = i in tracked
                self.tensors.append(t)
            else:
                self.tensors.append(x)

    def together(self) -> list[Tensor]:
        """The results by the row's batching rule, with the batch in front."""
        level = VmapLevel(SIZE)
        with entered(level), np.errstate(all="ignore"):
            inputs = [batched(x, level) if has else x for x, has in zip(self.tensors, self.chosen, strict=True)]
            results = as_list(self.row, apply(self.row, *inputs, **self.statics))
            return [t._whole for t in results]  # type: ignore[attr-defined]

    def one_by_one(self) -> list[Tensor]:
        import whygrad

        with np.errstate(all="ignore"):
            columns = [as_list(self.row, apply(self.row, *[x[i] if has else x for x, has in
                                                          zip(self.tensors, self.chosen, strict=True)], **self.statics))
                       for i in range(SIZE)]
        return [whygrad.stack(column) for column in zip(*columns, strict=True)]


def gradients(results: list[Tensor], inputs: list[Any]) -> list[Any]:
    import whygrad

    roots = [t for t in results if t.requires_grad and t._array.dtype.kind in "fc"]
    wanted = [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]
    if not roots or not wanted:
        return []
    weights = [wrap(np.asarray(np.linspace(0.5, 1.5, t._array.size).reshape(t._array.shape), t._array.dtype)) for t in roots]
    with np.errstate(all="ignore"):
        return list(whygrad.autograd.grad(roots, wanted, weights, allow_unused=True))


def quietly(function: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function()
