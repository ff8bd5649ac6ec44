"""The LKJ distribution of Cholesky factors of correlation matrices."""

from __future__ import annotations

import math
from typing import Any

import whygrad as torch
from whygrad.base import dtypes
from whygrad.core.tensor import Size
from whygrad.distributions import constraints
from whygrad.distributions.beta import Beta
from whygrad.distributions.distribution import Distribution, Real, Shape, validated

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """LKJCholesky(dim, concentration): factors L with density proportional to det(L @ L.mT) ** (concentration - 1).

    Sampled by the onion method (Lewandowski, Kurowicka and Joe, 2009): row by row.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _parts = ("_beta",)
    _constants = ("dim",)

    def __init__(self, dim: int, concentration: Real = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        self._broadcast(concentration=concentration)
        marginal = self.concentration + 0.5 * (dim - 2)
        row = torch.arange(-1, dim - 1, dtype=self.concentration.dtype).clamp(min=0)
        self._beta = Beta(row + 0.5, marginal.unsqueeze(-1) - 0.5 * row)
        super().__init__(self.concentration.shape, Size((dim, dim)), validate_args)

    def _expanded(self, part: Any, batch_shape: Size) -> Any:
        return part.expand((*batch_shape, self.dim)) if part is self._beta else super()._expanded(part, batch_shape)

    def sample(self, sample_shape: Shape = ()) -> Any:
        length = self._beta.sample(sample_shape).unsqueeze(-1)
        normals = torch.randn(self._extended_shape(sample_shape), dtype=length.dtype).tril(-1)
        direction = normals / normals.norm(dim=-1, keepdim=True)
        direction[..., 0, :].fill_(0.0)
        rows = length.sqrt() * direction
        rest = (1 - (rows ** 2).sum(dim=-1)).clamp(min=dtypes.finfo(rows.dtype).tiny)
        return rows + torch.diag_embed(rest.sqrt())

    @validated
    def log_prob(self, value: Any) -> Any:
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        power = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - torch.arange(2, self.dim + 1)
        others = self.dim - 1
        alpha = self.concentration + 0.5 * others
        norm = 0.5 * others * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, others) - alpha.lgamma() * others
        return (power * diagonal.log()).sum(dim=-1) - norm
