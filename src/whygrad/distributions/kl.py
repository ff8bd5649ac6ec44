"""The Kullback-Leibler divergence: a registry of pairs. Pairs of one family have the formula `_divergence` of their class."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from whygrad import distributions as D
from whygrad.base.errors import warn
from whygrad.distributions.distribution import Distribution
from whygrad.distributions.utils import Values, _sum_rightmost

__all__ = ["kl_divergence", "register_kl"]

Formula = Callable[[Any, Any], Any]
_KL_REGISTRY: dict[tuple[type[Any], type[Any]], Formula] = {}
_KL_MEMOIZE: dict[tuple[type[Any], type[Any]], Formula] = {}


def register_kl(type_p: type[Any], type_q: type[Any]) -> Callable[[Formula], Formula]:
    """A decorator: this function is KL(p || q) for these classes and their subclasses."""
    def decorator(function: Formula) -> Formula:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return decorator


def kl_divergence(p: Distribution, q: Distribution) -> Values:
    """KL(p || q), the expectation under p of log p(x) - log q(x), for each batch element."""
    pair = type(p), type(q)
    function: Any = _KL_MEMOIZE.get(pair)
    if function is None:
        function = _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    if function is NotImplemented:
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {p.__class__.__name__} and q type "
                                  f"{q.__class__.__name__}")
    return function(p, q)


def _dispatch_kl(type_p: type[Any], type_q: type[Any]) -> Any:
    """The most specific registered pair, ordered by p first and by q first; a warning if the two differ."""
    matches = [(a, b) for a, b in _KL_REGISTRY if issubclass(type_p, a) and issubclass(type_q, b)]
    if not matches:
        return NotImplemented
    mro_p, mro_q = type_p.__mro__, type_q.__mro__
    by_p = min(matches, key=lambda m: (mro_p.index(m[0]), mro_q.index(m[1])))
    by_q = min(matches, key=lambda m: (mro_q.index(m[1]), mro_p.index(m[0])))
    if _KL_REGISTRY[by_p] is not _KL_REGISTRY[by_q]:
        warn(f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please register_kl("
             f"{by_p[0].__name__}, {by_q[1].__name__})", RuntimeWarning)
    return _KL_REGISTRY[by_p]


for _kind in list(vars(D).values()):
    if isinstance(_kind, type) and "_divergence" in vars(_kind):
        register_kl(_kind, _kind)(_kind._divergence)  # type: ignore[attr-defined]
_normals: tuple[Any, ...] = D.MultivariateNormal, D.LowRankMultivariateNormal
for _p, _q in itertools.product(_normals, repeat=2):
    register_kl(_p, _q)(_p._divergence)


@register_kl(D.TransformedDistribution, D.TransformedDistribution)
def _transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(D.Independent, D.Independent)
def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
