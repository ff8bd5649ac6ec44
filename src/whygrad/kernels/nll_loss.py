"""nll_loss without class weights and ignored targets, and its gradient."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from whygrad.kernels.calls import Array, Entry, data_of, python_function
from whygrad.kernels.code import address_of
from whygrad.kernels.host import FLOAT32
from whygrad.kernels.values import F32, F64, I32, I64, VOID, Value


def nll_loss(numpy: Callable[..., Any]) -> Callable[..., Any]:
    total = _function("nll_loss", _write_total)

    def run(x: Any, target: Any, weight: Any, *, ignore_index: int, reduction: str, spatial: bool) -> Any:
        if weight is None and reduction != "none" and x.ndim == 2 and not 0 <= ignore_index < x.shape[1]:
            found = total(x, target, len(x) if reduction == "mean" else 1)
            if found is not None:
                return found
        return numpy(x, target, weight, ignore_index=ignore_index, reduction=reduction, spatial=spatial)

    return run


def nll_loss_backward(numpy: Callable[..., Any]) -> Callable[..., Any]:
    put = _function("nll_loss_backward", _write_put)

    def run(x: Any, target: Any, weight: Any, *, shape: tuple[int, ...], ignore_index: int, reduction: str, spatial: bool) -> Any:
        if weight is None and reduction != "none" and len(shape) == 2 and not 0 <= ignore_index < shape[1] and x.dtype is FLOAT32:
            share = x.item()
            found = put(np.zeros(shape, FLOAT32), target, share / -shape[0] if reduction == "mean" and shape[0] else -share)
            if found is not None:
                return found
        return numpy(x, target, weight, shape=shape, ignore_index=ignore_index, reduction=reduction, spatial=spatial)

    return run


@cache
def _function(name: str, write: Callable[[Any, str], None]) -> Callable[..., Any]:
    return python_function(name, address_of(name, write))


def _entry(module: Any, name: str, writeable: bool) -> tuple[Entry, Array, Array, Value, Value]:
    """An entry for rows of classes, the class of each row, and a number; also gives the numbers of rows and classes."""
    entry = Entry(module, name, 3)
    f = entry.f
    x, target = entry.array(entry.argument(0), "f4", writeable), entry.array(entry.argument(1), "i8")
    entry.require_shape(x.ndim.equals(2) & target.ndim.equals(1))
    rows, classes = f.load(I64, x.shape, 0), f.load(I64, x.shape, 1)
    entry.require_shape(f.load(I64, target.shape).equals(rows))
    outside = f.variable(f.integer(0))
    with f.loop(0, rows) as i:
        number = f.load(I64, target.data, i)
        outside.set(outside.get() | ((number < 0) | (number >= classes)).to(I64))
    entry.require_shape(outside.get().equals(0))
    return entry, x, target, rows, classes


def _write_total(module: Any, name: str) -> None:
    """total(x, target, count): the negative mean, if `count` is the number of rows."""
    entry, x, target, rows, classes = _entry(module, name, writeable=False)
    f = entry.f
    count = entry.number(entry.argument(2))
    total = f.variable(f.constant(0.0, F64))
    with f.loop(0, rows) as i:
        total.set(total.get() - f.load(F32, x.data, i * classes + f.load(I64, target.data, i)).to(F64))
    made = entry.new_array("f4", f.constant(0, I32), entry.slots([f.integer(0)]))
    f.store((total.get() / count).to(F32), data_of(f, made))
    entry.give(made)


def _write_put(module: Any, name: str) -> None:
    """put(result, target, number): the number in each row, at its class."""
    entry, result, target, rows, classes = _entry(module, name, writeable=True)
    f = entry.f
    value = entry.number(entry.argument(2)).to(F32)
    with f.loop(0, rows) as i:
        f.store(value, result.data, i * classes + f.load(I64, target.data, i))
    f.call("Py_IncRef", VOID, entry.argument(0))
    entry.give(entry.argument(0))
