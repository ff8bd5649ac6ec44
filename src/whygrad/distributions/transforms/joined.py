"""Different transforms for different parts of a tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import whygrad as torch
from whygrad.distributions import constraints
from whygrad.distributions.transforms.base import Transform
from whygrad.distributions.utils import _sum_rightmost, lazy_property

__all__ = ["CatTransform", "StackTransform"]


class _Joined(Transform):
    """Splits a tensor along `dim`, applies one transform to each part, and concatenates the results."""

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    bijective = property(lambda self: all(t.bijective for t in self.transforms))

    def _cut(self, x: Any, name: str, shown: str) -> Sequence[Any]:
        if not -x.dim() <= self.dim < x.dim():
            raise AssertionError(f"dim {self.dim} out of range for {shown} with {x.dim()} dimensions")
        size, wanted = x.size(self.dim), self._size()
        if size != wanted[1]:
            raise AssertionError(f"{name}.size({self.dim}) = {size} must equal {wanted[0]} {wanted[1]}")
        return self._parts_of(x)

    _size: Callable[..., tuple[str, int]]
    _parts_of: Callable[..., Any]
    _join: Callable[..., Any]

    def _call(self, x: Any) -> Any:
        parts = self._cut(x, "x", "tensor")
        return self._join([t(part) for t, part in zip(self.transforms, parts, strict=True)])

    def _inverse(self, y: Any) -> Any:
        parts = self._cut(y, "y", "tensor")
        return self._join([t.inv(part) for t, part in zip(self.transforms, parts, strict=True)])

    def _jacobians(self, x: Any, y: Any) -> list[Any]:
        return [t.log_abs_det_jacobian(a, b) for t, a, b in
                zip(self.transforms, self._cut(x, "x", "x"), self._cut(y, "y", "y"), strict=True)]


class CatTransform(_Joined):
    """Parts of given lengths, joined as by `cat`."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None,
                 cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})")

    @lazy_property
    def event_dim(self) -> int:
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self) -> int:
        return sum(self.lengths)

    def _again(self, cache_size: int) -> Transform:
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _size(self) -> tuple[str, int]:
        return "length", self.length

    def _parts_of(self, x: Any) -> Any:
        return x.split(self.lengths, self.dim)

    def _join(self, parts: list[Any]) -> Any:
        return torch.cat(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        jacobians = [_sum_rightmost(jacobian, self.event_dim - t.event_dim)
                     for t, jacobian in zip(self.transforms, self._jacobians(x, y), strict=True)]
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return torch.cat(jacobians, dim=dim) if dim < 0 else sum(jacobians)

    domain = constraints.dependent_property(
        lambda self: constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths))
    codomain = constraints.dependent_property(
        lambda self: constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths))


class StackTransform(_Joined):
    """A transform for each slice, joined as by `stack`."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    def _again(self, cache_size: int) -> Transform:
        return StackTransform(self.transforms, self.dim, cache_size)

    def _size(self) -> tuple[str, int]:
        return "len(transforms)", len(self.transforms)

    def _parts_of(self, x: Any) -> Any:
        return x.unbind(self.dim)

    def _join(self, parts: list[Any]) -> Any:
        return torch.stack(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return self._join(self._jacobians(x, y))

    domain = constraints.dependent_property(lambda self: constraints.stack([t.domain for t in self.transforms], self.dim))
    codomain = constraints.dependent_property(lambda self: constraints.stack([t.codomain for t in self.transforms], self.dim))
