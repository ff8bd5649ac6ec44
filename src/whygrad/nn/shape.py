"""Flatten and Unflatten, and distances between two tensors."""

from __future__ import annotations

from typing import Any

from whygrad.nn import functional as F
from whygrad.nn.from_function import module_class, shows, store
from whygrad.nn.module import Module


class Flatten(Module):
    """Flattens a range of dims into one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Any) -> Any:
        return input.flatten(self.start_dim, self.end_dim)

    extra_repr = shows("start_dim", "end_dim")


class Unflatten(Module):
    """Splits one dim into several."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError("unflattened_size must be a tuple of ints, but found type "
                            f"{type(unflattened_size).__name__}")
        for i, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError("unflattened_size must be tuple of ints, but found element of type "
                                f"{type(size).__name__} at pos {i}")
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Any) -> Any:
        return input.unflatten(self.dim, self.unflattened_size)

    extra_repr = shows("dim", "unflattened_size")


CosineSimilarity = module_class(
    "CosineSimilarity", __name__, F.cosine_similarity,
    lambda self, x1, x2: F.cosine_similarity(x1, x2, self.dim, self.eps), {"dim": 1, "eps": 1e-8}, start=store)


class PairwiseDistance(Module):
    """The p-norm of the difference of two tensors along the last dim."""

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Any, x2: Any) -> Any:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
