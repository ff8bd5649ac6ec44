"""Embeddings: rows of a weight matrix selected by index, singly or reduced over bags."""

from __future__ import annotations

from typing import Any

import whygrad as torch
from whygrad.autograd.grad_mode import no_grad
from whygrad.functional.parameter import Parameter
from whygrad.nn import functional as F
from whygrad.nn import init
from whygrad.nn.from_function import unusual
from whygrad.nn.module import Module


class _EmbeddingBase(Module):
    """Base of both: the weight matrix."""

    weight: Any
    padding_idx: int | None

    def _make_weight(self, rows: int, columns: int, given: Any, requires_grad: bool, device: Any, dtype: Any) -> None:
        if given is None:
            self.weight = Parameter(torch.empty((rows, columns), device=device, dtype=dtype), requires_grad)
            self.reset_parameters()
        else:
            if tuple(given.shape) != (rows, columns):
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(given, requires_grad)

    def reset_parameters(self) -> None:
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


def _row(index: int | None, rows: int, name: str) -> int | None:
    """A row index as a non-negative number."""
    if index is None:
        return None
    if not (-rows <= index < rows or index == 0):
        raise AssertionError(f"{name} must be within num_embeddings")
    return index + rows if index < 0 else index


class Embedding(_EmbeddingBase):
    """The rows of `weight` that the input names; the row `padding_idx` gets no gradient."""

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
                 max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
                 sparse: bool = False, _weight: Any = None, _freeze: bool = False, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = _row(padding_idx, num_embeddings, "Padding_idx")
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._make_weight(num_embeddings, embedding_dim, _weight, not _freeze, device, dtype)

    def forward(self, input: Any) -> Any:
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq,
                           self.sparse)

    def extra_repr(self) -> str:
        usual = {"padding_idx": None, "max_norm": None, "norm_type": 2, "scale_grad_by_freq": False, "sparse": False}
        return ", ".join([str(self.num_embeddings), str(self.embedding_dim), *unusual(self, usual)])

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, padding_idx: int | None = None,
                        max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
                        sparse: bool = False) -> Any:
        """An embedding with the given weight."""
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        return cls(rows, columns, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings, freeze)


class EmbeddingBag(_EmbeddingBase):
    """The sum, mean or maximum of the rows of `weight` that each bag of the input names."""

    def __init__(self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None, norm_type: float = 2.0,
                 scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False, _weight: Any = None,
                 include_last_offset: bool = False, padding_idx: int | None = None, device: Any = None,
                 dtype: Any = None) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.padding_idx = _row(padding_idx, num_embeddings, "padding_idx")
        self._make_weight(num_embeddings, embedding_dim, _weight, True, device, dtype)
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset

    def forward(self, input: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
        return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq,
                               self.mode, self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx)

    def extra_repr(self) -> str:
        usual = {"max_norm": None, "norm_type": 2, "scale_grad_by_freq": False, "mode": None, "padding_idx": None}
        return ", ".join([str(self.num_embeddings), str(self.embedding_dim), *unusual(self, usual, repr)])

    @classmethod
    def from_pretrained(cls, embeddings: Any, freeze: bool = True, max_norm: float | None = None,
                        norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean",
                        sparse: bool = False, include_last_offset: bool = False, padding_idx: int | None = None) -> Any:
        """An embedding bag with the given weight."""
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        bags = cls(rows, columns, max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings, include_last_offset,
                   padding_idx)
        bags.weight.requires_grad = not freeze
        return bags
