"""Reductions and running totals against torch: values, dtypes, first and second derivatives, errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from oracle import assert_same, check, outcome, pair, same_error

import whygrad
from whygrad.backends import raw
from whygrad.ops.table import TABLE

rng = np.random.default_rng(7)
MATRIX = rng.uniform(0.5, 2.0, (3, 4))
SIGNED = rng.normal(size=(3, 4))
CUBE = rng.normal(size=(2, 3, 4))
TIES = np.array([[1.0, 3.0, 3.0], [3.0, -2.0, 0.0], [-2.0, -2.0, 1.0]])
ZEROS = np.array([[1.5, 0.0, 2.0], [0.0, -1.0, 0.0], [3.0, 2.0, 0.5]])
NAN = np.array([[1.0, math.nan, 2.0], [3.0, 4.0, 5.0]])
SCALAR = np.array(1.7)

OVER_DIMS: list[dict[str, Any]] = [{}, {"dim": 0}, {"dim": -1, "keepdim": True}, {"dim": (0, 2)},
                                   {"dim": [-1, 0], "keepdim": True}, {"dim": (0, 1, 2)}, {"dim": ()}]
ONE_DIM: list[dict[str, Any]] = [{}, {"dim": 0}, {"dim": 1, "keepdim": True}, {"dim": -1}]


def call(name: str, **kwargs: Any) -> Any:
    """`torch.<name>(x, **kwargs)` for either library."""
    return lambda lib, *xs: getattr(lib, name)(*xs, **kwargs)


def compare(function: Any, *arrays: np.ndarray, requires_grad: bool = False) -> bool:
    """Same result or same error; whether there was a result."""
    pairs = [pair(array, requires_grad) for array in arrays]
    theirs = outcome(lambda: function(torch, *[p[0] for p in pairs]))
    ours = outcome(lambda: function(whygrad, *[p[1] for p in pairs]))
    assert theirs[0] == ours[0], (theirs, ours)
    if theirs[0] == "error":
        assert theirs[1] == ours[1]
        return False
    assert_same(theirs[1], ours[1])
    return True


@pytest.mark.parametrize("name", ["sum", "nansum", "mean", "nanmean", "var", "std", "var_mean", "std_mean", "amax",
                                  "amin", "norm"])
@pytest.mark.parametrize("kwargs", OVER_DIMS, ids=str)
def test_over_dims(name: str, kwargs: dict[str, Any]) -> None:
    if name == "norm":
        kwargs = {**kwargs, "p": 2}
    # torch's gradient of a variance over dim=() is infinite: it divides by a count of one minus one.
    order = 0 if kwargs.get("dim") == () and name.startswith(("var", "std")) else 2
    check(call(name, **kwargs), [CUBE], order=order)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "argmax", "argmin", "all", "any", "logsumexp",
                                  "var", "norm", "cumsum", "cumprod", "count_nonzero", "median"])
@pytest.mark.parametrize("dim", [0, -1])
def test_scalar_tensor(name: str, dim: int) -> None:
    check(call(name, dim=dim), [SCALAR])


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "max", "min", "amax", "argmax", "all", "any", "norm", "var",
                                  "std", "aminmax", "median"])
def test_scalar_tensor_whole(name: str) -> None:
    check(call(name), [SCALAR])


@pytest.mark.parametrize("name", ["prod", "max", "min", "argmax", "argmin", "cumsum", "cumprod", "median", "nanmedian"])
@pytest.mark.parametrize("kwargs", ONE_DIM, ids=str)
def test_along_one_dim(name: str, kwargs: dict[str, Any]) -> None:
    if name.startswith("cum"):
        kwargs = {"dim": kwargs.get("dim", 0)}
    check(call(name, **kwargs), [MATRIX])
    check(call(name, **kwargs), [CUBE.astype(np.float32)], rtol=1e-3)


@pytest.mark.parametrize("kwargs", [{}, {"keepdim": True}, {"dim": 0}, {"dim": 1, "keepdim": True}], ids=str)
@pytest.mark.parametrize("values", [SIGNED, TIES], ids=["distinct", "ties"])
def test_aminmax(kwargs: dict[str, Any], values: np.ndarray) -> None:
    check(call("aminmax", **kwargs), [values])


@pytest.mark.parametrize("name", ["max", "min", "amax", "amin", "median"])
@pytest.mark.parametrize("kwargs", [{}, {"dim": 0}, {"dim": 1}], ids=str)
def test_ties(name: str, kwargs: dict[str, Any]) -> None:
    check(call(name, **kwargs), [TIES])


@pytest.mark.parametrize("name", ["max", "min", "amax", "argmax", "argmin", "sum", "nansum", "nanmean", "median",
                                  "nanmedian", "mean"])
@pytest.mark.parametrize("kwargs", [{}, {"dim": 0}, {"dim": 1}], ids=str)
def test_nan(name: str, kwargs: dict[str, Any]) -> None:
    check(call(name, **kwargs), [NAN], order=1)


def test_binary_extremes() -> None:
    for name in ("max", "min"):
        check(lambda lib, a, b, name=name: getattr(lib, name)(a, b), [SIGNED, SIGNED[0]])
        check(lambda lib, a, b, name=name: getattr(a, name)(other=b), [TIES, TIES.T.copy()])


def test_return_types() -> None:
    theirs, ours = pair(np.array([[1.0, 2.0], [4.0, 3.0]], np.float32))
    for name, kwargs in (("max", {"dim": 0}), ("min", {"dim": 1}), ("aminmax", {}), ("median", {"dim": 0})):
        a, b = getattr(theirs, name)(**kwargs), getattr(ours, name)(**kwargs)
        assert type(b).__name__ == type(a).__name__ == name
        assert repr(b) == repr(a)
    values, indices = ours.max(0)
    assert ours.max(0).values.tolist() == values.tolist() == [4.0, 3.0]
    assert indices.tolist() == [1, 1]


@pytest.mark.parametrize("values", [ZEROS, np.where(ZEROS == 0, 0.7, ZEROS), np.zeros((3, 3))],
                         ids=["zeros", "none", "all"])
@pytest.mark.parametrize("dim", [None, 0, 1])
def test_products_with_zeros(values: np.ndarray, dim: int | None) -> None:
    # With several zeros torch stops the second derivative of a product short; below it is checked by differences.
    order = 2 if values.all() else 1
    check(call("prod", **({} if dim is None else {"dim": dim})), [values], order=order)
    check(call("cumprod", dim=dim or 0), [values], order=order)


@pytest.mark.parametrize("function",
                         [lambda x: x.prod(), lambda x: x.prod(0).sum(), lambda x: (x.cumprod(1) ** 2).sum()])
@pytest.mark.parametrize("values", [ZEROS, np.array([[0.0, 2.0, 3.0], [1.0, 0.5, -2.0]])], ids=["many", "one"])
def test_second_derivative_of_products_with_zeros(function: Any, values: np.ndarray) -> None:
    """By central differences of the first derivative."""
    direction = rng.normal(size=values.shape)

    def gradient(array: np.ndarray) -> np.ndarray:
        x = whygrad.from_numpy(array.copy()).requires_grad_()
        return whygrad.autograd.grad(function(x), x)[0]._array

    step = 1e-5
    expected = (gradient(values + step * direction) - gradient(values - step * direction)) / (2 * step)
    x = whygrad.from_numpy(values.copy()).requires_grad_()
    first, = whygrad.autograd.grad(function(x), x, create_graph=True)
    second, = whygrad.autograd.grad((first * whygrad.from_numpy(direction)).sum(), x)
    np.testing.assert_allclose(second._array, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
@pytest.mark.parametrize(("args", "kwargs"), [
    ((), {"correction": 0}), ((0,), {"correction": 2}), ((1,), {"unbiased": False}), ((False,), {}), ((True,), {}),
    ((0, False, True), {}), (((0, 1),), {"correction": 0.5, "keepdim": True}), ((None,), {"correction": 3})], ids=str)
def test_correction(name: str, args: Any, kwargs: dict[str, Any]) -> None:
    check(lambda lib, x: getattr(lib, name)(x, *args, **kwargs), [SIGNED])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("dim", [0, 1, (1, 2), (0, 2)], ids=str)
def test_equal_numbers_do_not_vary(dim: Any, dtype: Any) -> None:
    """Programs look for `std == 0`."""
    equal = np.full((3, 7, 10), 0.1, dtype)
    check(call("std", dim=dim), [equal], order=1)
    assert not whygrad.from_numpy(equal).std(dim).any()


@pytest.mark.filterwarnings("ignore:.*degrees of freedom.*")
@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("values", [[2.0], [2.0, 2.0], [2.0, 3.0], 2.0], ids=str)
@pytest.mark.parametrize("kwargs", [{}, {"dim": 0}, {"correction": 2}, {"dim": 0, "correction": 2},
                                    {"dim": 0, "correction": 3}, {"correction": 3}], ids=str)
def test_variance_without_freedom(name: str, values: Any, kwargs: dict[str, Any]) -> None:
    check(call(name, **kwargs), [np.array(values)], order=1)


def test_variance_warns_without_freedom() -> None:
    with pytest.warns(UserWarning, match=r"var\(\): degrees of freedom is <= 0"):
        whygrad.tensor([1.0]).var()


@pytest.mark.parametrize("values",
                         [[-math.inf, -math.inf], [math.inf, 1.0], [math.nan, 1.0], [-math.inf, 1.0], [1000.0, 1000.0]],
                         ids=str)
def test_logsumexp_at_infinity(values: list[float]) -> None:
    check(call("logsumexp", dim=0), [np.array(values)], order=1)


@pytest.mark.parametrize("kwargs", [{"dim": 0}, {"dim": (0, 2)}, {"dim": -1, "keepdim": True}], ids=str)
def test_logsumexp(kwargs: dict[str, Any]) -> None:
    check(call("logsumexp", **kwargs), [CUBE])
    check(call("logsumexp", **kwargs), [CUBE.astype(np.float32)])


ORDERS = [0, 0.5, 1, 1.5, 2, 3, math.inf, -math.inf, -1]


@pytest.mark.parametrize("ord", ORDERS)
@pytest.mark.parametrize("kwargs", [{}, {"dim": 0}, {"dim": (0, 1), "keepdim": True}], ids=str)
def test_norms(ord: float, kwargs: dict[str, Any]) -> None:
    check(lambda lib, x: lib.norm(x, ord, **kwargs), [SIGNED])
    check(lambda lib, x: lib.linalg.vector_norm(x, ord, **kwargs), [SIGNED])


@pytest.mark.parametrize("ord", ORDERS)
@pytest.mark.parametrize("values", [[0.0, 0.0], [0.0, -2.0], [-2.0, 2.0], [math.nan, 2.0]], ids=str)
def test_norm_at_edges(ord: float, values: list[float]) -> None:
    check(lambda lib, x: x.norm(ord), [np.array(values)], order=1)
    if ord:
        check(lambda lib, x, y: lib.dist(x, y, ord), [np.array(values), np.zeros(2)], order=1)


def test_norm_forms() -> None:
    for args, kwargs in (((), {}), (("fro",), {}), (("fro", 1), {}), (("fro", (0, 1)), {}), ((None,), {}),
                         ((), {"dtype": "float64"})):
        check(lambda lib, x, a=args, k=kwargs: lib.norm(x, *a, **{n: getattr(lib, v) for n, v in k.items()}),
              [SIGNED.astype(np.float32)])
    check(lambda lib, a, b: lib.dist(a, b, 3), [SIGNED, SIGNED[0] + 1])
    check(lambda lib, a, b: lib.dist(a, b), [SIGNED, np.arange(4)])


def test_complex() -> None:
    z = SIGNED + 1j * SIGNED[::-1]
    for name, kwargs in (("sum", {}), ("mean", {"dim": 0}), ("prod", {"dim": 1}), ("cumsum", {"dim": 0}),
                         ("cumprod", {"dim": 1}), ("norm", {}), ("norm", {"p": 1, "dim": 0})):
        check(call(name, **kwargs), [z], rtol=1e-8)
    for name in ("var", "std", "var_mean", "std_mean"):
        check(call(name, dim=0), [z], check_node=name == "var", rtol=1e-8)


DTYPES = ["bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["sum", "nansum", "mean", "prod", "max", "min", "amax", "aminmax", "argmax",
                                  "argmin", "all", "any", "count_nonzero", "cumsum", "cumprod", "logsumexp", "var",
                                  "std", "norm", "median", "nanmean"])
def test_dtypes(name: str, dtype: str) -> None:
    array = np.array([[1, 0, 2], [3, 1, 1]]).astype(dtype)
    for kwargs in ({}, {"dim": 1}):
        if kwargs or name not in ("cumsum", "cumprod", "logsumexp"):
            compare(lambda lib, x, k=kwargs: getattr(lib, name)(x, **k), array)


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "cumsum", "cumprod", "nansum", "nanmean"])
@pytest.mark.parametrize("dtype", ["float64", "int64", "float16", "int32"])
def test_dtype_argument(name: str, dtype: str) -> None:
    kwargs = {"dim": 0} if name.startswith("cum") else {}
    for array in (MATRIX.astype(np.float32), np.arange(6).reshape(2, 3)):
        compare(lambda lib, x: getattr(lib, name)(x, **kwargs, dtype=getattr(lib, dtype)), array)
    if dtype == "float64":
        check(lambda lib, x: getattr(lib, name)(x, **kwargs, dtype=lib.float64), [MATRIX.astype(np.float32)])


def test_numpy_names() -> None:
    check(lambda lib, x: lib.sum(x, axis=0, keepdims=True), [MATRIX])
    check(lambda lib, x: x.mean(axis=(0, 1)), [MATRIX])
    check(lambda lib, x: lib.max(x, axis=1, keepdims=True), [MATRIX])
    check(lambda lib, x: lib.argmax(x, axis=0), [MATRIX])


@pytest.mark.parametrize("name", ["cumsum_", "cumprod_"])
def test_running_inplace(name: str) -> None:
    check(lambda lib, x: getattr(x * 1, name)(1), [MATRIX])
    theirs, ours = pair(np.arange(1, 5, dtype=np.int32))
    assert_same(getattr(theirs, name)(0), getattr(ours, name)(0))
    same_error(lambda: getattr(theirs, name)(0, dtype=torch.float32),
               lambda: getattr(ours, name)(0, dtype=whygrad.float32))


def test_out() -> None:
    for name, kwargs in (("sum", {"dim": 0}), ("mean", {"dim": 0}), ("amax", {"dim": 0}), ("var", {"dim": 0}),
                         ("cumsum", {"dim": 0})):
        theirs, ours = pair(SIGNED)
        shape = () if name == "cumsum" else (4,)
        their_out, our_out = pair(np.zeros(SIGNED.shape if name == "cumsum" else shape))
        expected = getattr(torch, name)(theirs, **kwargs, out=their_out)
        result = getattr(whygrad, name)(ours, **kwargs, out=our_out)
        assert result is our_out
        assert_same(expected, result)
    theirs, ours = pair(SIGNED)
    outs = [pair(np.zeros(4)), pair(np.zeros(4, np.int64))]
    expected = torch.max(theirs, 0, out=tuple([a for a, _ in outs]))
    result = whygrad.max(ours, 0, out=tuple([b for _, b in outs]))
    assert_same(tuple(expected), tuple(result))
    assert result[0] is outs[0][1]


EMPTY = np.zeros((0, 3))
ON_EMPTY: list[tuple[str, dict[str, Any]]] = [
    *[(name, kwargs) for name in ["sum", "mean", "prod", "var", "all", "any", "max", "min", "amax", "amin", "argmax",
                                  "argmin", "aminmax", "norm", "median", "count_nonzero"]
      for kwargs in ({}, {"dim": 0}, {"dim": 1}) if (name, kwargs) != ("median", {"dim": 0})],
    *[(name, {"dim": dim}) for name in ("logsumexp", "cumsum", "cumprod") for dim in (0, 1)],
    *[("norm", {"p": p, **kwargs}) for p in (math.inf, -1) for kwargs in ({}, {"dim": 0}, {"dim": 1})],
    ("amin", {"dim": (0, 1)})]


@pytest.mark.parametrize(("name", "kwargs"), ON_EMPTY, ids=str)
def test_empty(name: str, kwargs: dict[str, Any]) -> None:
    if compare(call(name, **kwargs), EMPTY, requires_grad=True):
        check(call(name, **kwargs), [EMPTY], order=1)


ERRORS = [
    lambda lib, f, i: f.sum(2),
    lambda lib, f, i: f.sum((0, 0)),
    lambda lib, f, i: f.sum("a"),
    lambda lib, f, i: f.sum(0.5),
    lambda lib, f, i: f.sum(True),
    lambda lib, f, i: lib.sum(5),
    lambda lib, f, i: lib.argmax([1]),
    lambda lib, f, i: f.mean((0, -3)),
    lambda lib, f, i: i.mean(),
    lambda lib, f, i: i.std(),
    lambda lib, f, i: lib.var_mean(i),
    lambda lib, f, i: f.max(0.5),
    lambda lib, f, i: f.max(5),
    lambda lib, f, i: f.cumsum(2),
    lambda lib, f, i: f.count_nonzero(2),
    lambda lib, f, i: f.norm("abc"),
    lambda lib, f, i: f.norm("fro", (0, 1, 2)),
    lambda lib, f, i: i.norm(),
    lambda lib, f, i: lib.linalg.vector_norm(f, "a"),
    lambda lib, f, i: lib.linalg.vector_norm(f, dtype=lib.int64),
    lambda lib, f, i: lib.linalg.vector_norm(f.double(), dtype=lib.float32),
    lambda lib, f, i: lib.dist(f, 2),
    lambda lib, f, i: lib.nanmean(i),
    lambda lib, f, i: (f > 0).argmax(),
    lambda lib, f, i: lib.logsumexp(f, None),
    lambda lib, f, i: f.var((0, 0)),
    lambda lib, f, i: f.amax((0, 0)),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number: int) -> None:
    theirs_f, ours_f = pair(SIGNED.astype(np.float32))
    theirs_i, ours_i = pair(np.arange(6).reshape(2, 3))
    same_error(lambda: ERRORS[number](torch, theirs_f, theirs_i), lambda: ERRORS[number](whygrad, ours_f, ours_i))


@pytest.mark.parametrize("text", [
    "f.max(dim=(0, 1))", "f.max(keepdim=True)", "f.max(f, 0)", "f.prod((0, 1))", "f.prod(keepdim=True)",
    "f.var(0, unbiased=True, correction=0)", "f.cumsum()", "f.cumsum(None)", "f.argmax((0,))"])
def test_invalid_combinations(text: str) -> None:
    for f in pair(SIGNED):
        with pytest.raises(TypeError):
            eval(text, {"f": f})


def test_float32_stays() -> None:
    x = whygrad.from_numpy(rng.normal(size=(7, 5)).astype(np.float32)).requires_grad_()
    for name, kwargs in (("mean", {}), ("var", {"dim": 0}), ("std", {}), ("prod", {"dim": 1}), ("norm", {}),
                         ("norm", {"p": 3}), ("amax", {}), ("logsumexp", {"dim": 0}), ("cumprod", {"dim": 0}),
                         ("median", {})):
        y = getattr(x, name)(**kwargs)
        gradient, = whygrad.autograd.grad(y.sum(), x)
        assert y._array.dtype == gradient._array.dtype == np.float32, name


def test_definitions() -> None:
    """The quick function of the backend does what the row's definition says."""
    spread = {"axis": (1,), "keepdims": True, "correction": 1}
    for name, statics in (("mean", {"axis": (0,)}), ("var", spread), ("std", spread),
                          ("product_of_others", {"axis": 1}), ("sum_all", {}), ("mean_all", {})):
        for array in (SIGNED, ZEROS):
            np.testing.assert_allclose(getattr(raw, name)(array, **statics), TABLE[name].forward(raw, array, **statics))


def test_mean_saves_no_values() -> None:
    x = whygrad.tensor([1.0, 2.0], requires_grad=True)
    y = (x * 2).mean()
    assert y.grad_fn is not None
    y.backward(retain_graph=True)
    whygrad.autograd.grad(y, x)  # a node that saved nothing can be walked again


def test_long_scan_is_exact() -> None:
    values = rng.uniform(0.9, 1.1, 2000)
    values[700] = 0
    check(call("cumprod", dim=0), [values], order=1, rtol=1e-8)
    check(call("prod"), [values], order=1, rtol=1e-8)
