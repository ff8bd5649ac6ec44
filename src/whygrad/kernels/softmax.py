"""softmax and log_softmax along the last axis, and their derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy import ascontiguousarray

from whygrad.kernels.functions import exp, log
from whygrad.kernels.rowwise import Body, Row, row_kernel, row_or_number


def _along_last(name: str, kinds: str, body: Body) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A maker for a row with the static `axis`, a tuple of one axis."""

    def maker(numpy: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arrays: Any, axis: Any) -> Any:
            x = arrays[-1]
            if axis == (x.ndim - 1,):
                gradient = [row_or_number(g) for g in arrays[:-1]]
                expanded = "s" + kinds[1:] if gradient and type(gradient[0]) is float else kinds
                result = row_kernel(name, expanded, "y", body)(*gradient, ascontiguousarray(x), x.shape[-1])
                if result is not None:
                    return result
            return numpy(*arrays, axis=axis)

        return run

    return maker


def _softmax(row: Row) -> None:
    f, (x,), (y,) = row.f, row.arguments, row.results
    highest = row.max(lambda j, w: row.load(x, j, w))

    def power(j: Any, width: int) -> Any:
        value = exp(f, row.load(x, j, width) - highest.spread(width))
        f.store(value, y, j, width)
        return value

    share = 1.0 / row.fold(power, 0.0, lambda new, total: total + new, f.total, unroll=2)
    row.each(lambda j, w: f.store(row.load(y, j, w) * share.spread(w), y, j, w), unroll=2, masks=True)


def _softmax_backward(row: Row) -> None:
    f, (g, y), (out,) = row.f, row.arguments, row.results
    along = row.sum(lambda j, w: row.load(g, j, w) * row.load(y, j, w))
    row.each(lambda j, w: f.store((row.load(g, j, w) - along.spread(w)) * row.load(y, j, w), out, j, w), unroll=2, masks=True)


def _log_softmax(row: Row) -> None:
    f, (x,), (y,) = row.f, row.arguments, row.results
    highest = row.max(lambda j, w: row.load(x, j, w))
    total = row.fold(lambda j, w: exp(f, row.load(x, j, w) - highest.spread(w)), 0.0, lambda new, total: total + new, f.total,
                     unroll=2)
    logarithm = log(f, total)
    row.each(lambda j, w: f.store(row.load(x, j, w) - highest.spread(w) - logarithm.spread(w), y, j, w), 2, masks=True)


def _log_softmax_backward(row: Row) -> None:
    f, (g, y), (out,) = row.f, row.arguments, row.results
    along = row.sum(lambda j, w: row.load(g, j, w))
    row.each(lambda j, w: f.store(row.load(g, j, w) - exp(f, row.load(y, j, w)) * along.spread(w), out, j, w), masks=True)


softmax = _along_last("softmax", "x", _softmax)
softmax_backward = _along_last("softmax_backward", "xx", _softmax_backward)
log_softmax = _along_last("log_softmax", "x", _log_softmax)
log_softmax_backward = _along_last("log_softmax_backward", "xx", _log_softmax_backward)
