"""The reducer of DistributedDataParallel: gradients are all-reduced in buckets while the backward goes on.

A bucket starts when the last of its gradients is complete, and buckets start in one order in all ranks. Large gradients are
reduced in their own memory, small ones together in a buffer. At the end of the backward everything is waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from whygrad.base.futures import Future
from whygrad.core import engine
from whygrad.core.node import AccumulateGrad
from whygrad.core.tensor import Tensor, source, wrap
from whygrad.distributed import collectives
from whygrad.distributed.groups import ProcessGroup
from whygrad.distributed.reduce_op import RedOpType, reduction

FIRST_BUCKET_BYTES = 1 << 20
# From here on a gradient is reduced where it is, without a copy into its bucket's buffer and back.
IN_PLACE_BYTES = 1 << 16


class GradBucket:
    """What a communication hook gets: the flat gradients of some parameters."""

    def __init__(self, bucket: Bucket, buffer: Tensor, is_last: bool) -> None:
        self._bucket, self._buffer, self._is_last = bucket, buffer, is_last

    def index(self) -> int:
        return self._bucket.index

    def buffer(self) -> Tensor:
        return self._buffer

    def set_buffer(self, tensor: Tensor) -> None:
        self._buffer = tensor

    def gradients(self) -> list[Tensor]:
        flat = self._buffer._array
        parameters = self._bucket.parameters
        return [wrap(Bucket.part(flat, begin, p)) for p, begin in zip(parameters, Bucket.offsets(parameters), strict=True)]

    def parameters(self) -> list[Tensor]:
        return list(self._bucket.parameters)

    def is_last(self) -> bool:
        return self._is_last


class Bucket:
    """Parameters of one dtype whose gradients are reduced together."""

    def __init__(self, index: int, numbers: Sequence[int], parameters: Sequence[Tensor]) -> None:
        self.index = index
        self.numbers = list(numbers)
        self.parameters = list(parameters)
        self.dtype = parameters[0]._array.dtype
        self.pending: set[int] = set()
        self.buffer: np.ndarray | None = None
        self.finish: Callable[[], Any] | None = None  # waits for what was started, and brings the results into `.grad`

    @staticmethod
    def offsets(parameters: Iterable[Tensor]) -> list[int]:
        sizes = [p._array.size for p in parameters]
        return np.cumsum([0, *sizes])[:len(sizes)].tolist()

    @staticmethod
    def part(flat: np.ndarray, begin: int, p: Tensor) -> np.ndarray:
        """The gradient of `p` in a flat array: in the memory order of `p`."""
        array = p._array
        part = flat[begin:begin + array.size]
        if array.flags.c_contiguous:
            return part.reshape(array.shape)
        order = np.argsort([-abs(step) for step in array.strides], kind="stable")
        return part.reshape([array.shape[axis] for axis in order]).transpose(np.argsort(order))

    def flat(self, parameters: Sequence[Tensor], scale: float, *, is_fresh: bool) -> np.ndarray:
        """The gradients of these parameters in one array, times `scale`; zeros for those that have none."""
        size = sum(p._array.size for p in parameters)
        if self.buffer is None or self.buffer.size != size or is_fresh:
            self.buffer = np.empty(size, self.dtype)
        for p, begin in zip(parameters, self.offsets(parameters), strict=True):
            part = self.part(self.buffer, begin, p)
            if p._grad is None:
                part.fill(0)
            elif not np.shares_memory(p._grad._array, part):
                np.multiply(p._grad._array, self.dtype.type(scale), out=part)
            elif scale != 1:
                part *= self.dtype.type(scale)
        return self.buffer


def bucket_numbers(parameters: Sequence[Tensor], order: Iterable[int], first_bytes: int, cap_bytes: int) -> list[list[int]]:
    """The numbers of the parameters of each bucket: in order, by dtype, the first bucket a small one."""
    done: list[list[int]] = []
    growing: dict[Any, tuple[list[int], int]] = {}
    limits: dict[Any, int] = {}
    for number in order:
        array = parameters[number]._array
        numbers, size = growing.setdefault(array.dtype, ([], 0))
        numbers.append(number)
        size += array.nbytes
        if size >= limits.get(array.dtype, first_bytes):
            done.append(numbers)
            del growing[array.dtype]
            limits[array.dtype] = cap_bytes
        else:
            growing[array.dtype] = numbers, size
    return [*done, *[numbers for numbers, _ in growing.values()]]


class Reducer:
    """Averages the gradients of `parameters` over the ranks of a group, in each backward after a `prepare`."""

    def __init__(self, parameters: Sequence[Tensor], group: ProcessGroup, cap_bytes: int, *, as_view: bool = False,
                 is_static: bool = False) -> None:
        self.parameters = list(parameters)
        self.group = group
        self.cap_bytes = cap_bytes
        self.as_view = as_view
        self.hook: Callable[[GradBucket], Future] | None = None
        self.is_rebuilt = len(self.parameters) < 2
        self.arrived: list[int] = []
        self.is_expecting = False
        self.divisor = group.size()
        self.is_static = is_static
        self.finds_unused = False
        self.calls: dict[int, int] | None = None  # of each parameter in a backward of a static graph
        self._left: dict[int, int] = {}
        self._reset_used()
        self._make_buckets(range(len(self.parameters) - 1, -1, -1))
        for i, p in enumerate(self.parameters):
            p.register_post_accumulate_grad_hook(self._hook_of(i))  # type: ignore[attr-defined]

    def _make_buckets(self, order: Iterable[int]) -> None:
        found = bucket_numbers(self.parameters, order, min(FIRST_BUCKET_BYTES, self.cap_bytes), self.cap_bytes)
        self.buckets = [Bucket(i, numbers, [self.parameters[number] for number in numbers]) for i, numbers in enumerate(found)]
        self.bucket_of = {number: bucket for bucket in self.buckets for number in bucket.numbers}

    def _reset_used(self) -> None:
        self.used = np.zeros(len(self.parameters), np.uint8)

    def unfinished(self) -> list[int]:
        """The parameters without a gradient in the last backward, if it was not finished for that. There need not be one."""
        if not self.is_expecting or not self.used.any():
            return []
        return sorted(number for bucket in self.buckets for number in bucket.pending)

    # A step, in the order of what happens.

    def knows_order(self) -> bool:
        """Whether buckets can now be made in the order in which gradients arrive. With unused parameters it varies."""
        return not self.is_rebuilt and not self.finds_unused and len(self.arrived) == len(self.parameters)

    def rebuild(self, source: int = 0) -> None:
        """After the first backward: buckets in the order in which gradients arrived in rank `source`."""
        order = np.array(self.arrived if self.knows_order() else range(len(self.parameters)), np.int64)
        collectives.broadcast(wrap(order), group=self.group, group_src=source)
        self._make_buckets(order.tolist())
        self.is_rebuilt = True

    def prepare(self, outputs: Iterable[Tensor] | None) -> None:
        """The forward is done. With `outputs`, parameters from which they do not come count as ready."""
        if self.knows_order():
            self.rebuild()
        self.is_expecting, self.arrived = True, []
        self.finds_unused = outputs is not None
        self._next = 0
        self._reset_used()
        for bucket in self.buckets:
            bucket.pending, bucket.finish = set(bucket.numbers), None
        self._left = dict(self.calls or {})
        if outputs is not None:
            reached = {id(node.leaf) for node in engine.count_dependencies([source(t) for t in outputs if t.requires_grad])
                       if type(node) is AccumulateGrad}
            for number, p in enumerate(self.parameters):
                if id(p) not in reached:
                    self.bucket_of[number].pending.discard(number)
        if self.calls is not None:
            for number in range(len(self.parameters)):
                if number not in self.calls:
                    self.bucket_of[number].pending.discard(number)

    def _hook_of(self, number: int) -> Callable[[Tensor], None]:
        def is_complete(p: Tensor) -> None:
            if self.is_expecting:
                self._arrive(number)

        return is_complete

    def _arrive(self, number: int) -> None:
        bucket = self.bucket_of[number]
        if self.is_static and self.calls is None:  # the first backward only counts
            if not self._left:
                engine.current().callbacks.append(self._reduce_static)
            self._left[number] = self._left.get(number, 0) + 1
            self.used[number] = 1
            return
        if self.calls is not None:
            self._left[number] = self._left.get(number, 1) - 1
            if self._left[number] > 0:
                return
        if number not in bucket.pending:
            raise RuntimeError(
                "Expected to mark a variable ready only once. A parameter was used outside of the `forward` of the wrapped "
                "model, or in several reentrant backward passes (checkpoint with use_reentrant=True): if the graph is the same "
                f"in every step, use static_graph=True.\nParameter at index {number} has been marked as ready twice.")
        bucket.pending.remove(number)
        self.arrived.append(number)
        self.used[number] = 1
        self._start_ready()
        if self._next == len(self.buckets):
            engine.current().callbacks.append(self.finish)

    def _reduce_static(self) -> None:
        self.calls, self._left = dict(self._left), {}
        for bucket in self.buckets:
            bucket.pending.clear()
        self._start_ready()
        self.finish()

    def _start_ready(self) -> None:
        while self._next < len(self.buckets) and not self.buckets[self._next].pending:
            self._start(self.buckets[self._next])
            self._next += 1

    def _start(self, bucket: Bucket) -> None:
        for p in bucket.parameters:
            if p._grad is not None and p._grad._array.__class__ is not np.ndarray:
                raise NotImplementedError("DistributedDataParallel with sparse gradients")
        share = 1 / self.divisor
        if self.hook is not None:
            buffer = wrap(bucket.flat(bucket.parameters, 1, is_fresh=not self.as_view))
            future = self.hook(GradBucket(bucket, buffer, self._next == len(self.buckets) - 1))

            def finish_hook() -> None:
                result = future.wait()
                result = result[0] if isinstance(result, list) else result
                flat = result._array.reshape(-1)
                if self.as_view and bucket.buffer is not None:
                    bucket.buffer[...] = flat
                    flat = bucket.buffer
                self._hand_out(bucket.parameters, flat)

            bucket.finish = finish_hook
            return
        alone: list[Tensor] = []
        together: list[Tensor] = []
        for p in bucket.parameters:
            (alone if self._is_reduced_in_place(p) else together).append(p)
        summing = reduction(RedOpType.SUM, bucket.dtype)
        works = [collectives.begin_all_reduce(self.group, p._grad._array, summing, []) for p in alone]  # type: ignore[union-attr]
        flat = bucket.flat(together, share, is_fresh=False) if together else None
        if flat is not None:
            works.append(collectives.begin_all_reduce(self.group, flat, summing, []))

        def finish() -> None:
            for i, work in enumerate(works):
                work.wait()
                if i < len(alone):
                    array = alone[i]._grad._array  # type: ignore[union-attr]
                    np.multiply(array, array.dtype.type(share), out=array)
            if flat is not None:
                self._hand_out(together, flat)

        bucket.finish = finish

    def _is_reduced_in_place(self, p: Tensor) -> bool:
        """By what all ranks have in common: where a gradient may be missing, or laid out otherwise, it goes into the buffer."""
        array = p._array
        return (not self.as_view and not self.finds_unused and not self.is_static and array.nbytes >= IN_PLACE_BYTES
                and array.flags.c_contiguous)

    def finish(self) -> None:
        """The backward is over: bring the averages into `.grad`."""
        self.is_expecting = False
        if self.finds_unused or self.is_static:
            collectives.all_reduce(wrap(self.used), RedOpType.MAX, self.group)
        for bucket in self.buckets:
            if bucket.finish is not None:
                finish, bucket.finish = bucket.finish, None
                finish()

    def shadow(self) -> None:
        """Answer the collectives of another rank's backward, with gradients of zero; those of this rank stay as they are."""
        kept = [p._grad for p in self.parameters]
        for p in self.parameters:
            p._grad = wrap(np.zeros_like(p._array))
        self.prepare([] if self.finds_unused else None)
        for bucket in self.buckets:
            bucket.pending.clear()
        self._start_ready()
        self.finish()
        for p, gradient in zip(self.parameters, kept, strict=True):
            p._grad = gradient

    def _hand_out(self, parameters: Sequence[Tensor], flat: np.ndarray) -> None:
        numbers = {id(p): number for number, p in enumerate(self.parameters)} if self.finds_unused or self.is_static else {}
        for p, begin in zip(parameters, Bucket.offsets(parameters), strict=True):
            if numbers and not self.used[numbers[id(p)]]:
                continue  # no rank has a gradient: it stays as it was
            part = Bucket.part(flat, begin, p)
            if self.as_view:
                if p._grad is None or not np.shares_memory(p._grad._array, part):
                    p._grad = wrap(part)
            elif p._grad is None:
                p._grad = wrap(part.copy(order="K"))
            else:
                p._grad._array[...] = part
