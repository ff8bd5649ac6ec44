"""The pointwise family against torch: values, two derivatives, dtypes, in-place, out=, errors."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from oracle import assert_same, check, node_name, outcome, pair, same_error, to_numpy

import whygrad
from whygrad.backends import numpy_erf
from whygrad.functional import activation

F32, F64, C128 = np.float32, np.float64, np.complex128
INF, NAN = math.inf, math.nan

PLAIN = np.array([[-2.5, -1.0, -0.3], [0.2, 1.0, 3.5]])
ZEROS = np.array([-3.0, -1.0, -0.0, 0.0, 0.5, 1.0, 3.0, 6.0])
POSITIVE = np.array([0.1, 0.5, 1.0, 2.0, 30.0])
UNIT = np.array([0.05, 0.3, 0.5, 0.9])
ABOVE_ONE = np.array([1.1, 2.0, 30.0])
COMPLEX = np.array([1.5 + 0.5j, -0.4 + 0.8j, 0.3 - 1.2j])

# name: where the function is smooth, or has the corners that matter.
UNARY = {
    **dict.fromkeys(("neg", "negative", "exp", "exp2", "expm1", "sin", "cos", "tan", "atan", "arctan", "sinh", "cosh",
                     "tanh", "asinh", "arcsinh", "erf", "erfc", "sigmoid", "square", "deg2rad", "rad2deg",
                     "frac"), PLAIN),
    **dict.fromkeys(("abs", "absolute", "sign", "sgn", "floor", "ceil", "round", "trunc", "fix", "relu", "selu", "celu",
                     "nan_to_num", "positive", "sinc"), ZEROS),
    **dict.fromkeys(("sqrt", "rsqrt", "reciprocal", "log", "log2", "log10", "log1p"), POSITIVE),
    **dict.fromkeys(("asin", "acos", "atanh", "logit", "arcsin", "arccos", "arctanh"), UNIT),
    **dict.fromkeys(("acosh", "arccosh"), ABOVE_ONE),
}
TESTS = ("isnan", "isinf", "isfinite", "isposinf", "isneginf", "isreal", "signbit", "logical_not")
HOLOMORPHIC = ("neg", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos",
               "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "sqrt", "rsqrt", "reciprocal", "square",
               "sigmoid", "sinc")
NO_INPLACE_METHOD = ("positive", "selu", "celu")


@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str, dtype: Any) -> None:
    check(lambda ns, x: getattr(ns, name)(x), [UNARY[name].astype(dtype)])


@pytest.mark.parametrize("name", UNARY)
def test_unary_zero_dim(name: str) -> None:
    check(lambda ns, x: getattr(ns, name)(x), [UNARY[name].ravel()[-1:].reshape(())])


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_unary_complex(name: str) -> None:
    check(lambda ns, x: getattr(ns, name)(x), [COMPLEX])


@pytest.mark.parametrize("name", ["abs", "sgn"])
def test_complex_that_is_not_holomorphic(name: str) -> None:
    check(lambda ns, x: getattr(ns, name)(x), [COMPLEX])
    check(lambda ns, x: getattr(ns, name)(x), [np.array([0j, 1j])], order=1)


@pytest.mark.parametrize("name", [n for n in UNARY if n != "positive"] + list(TESTS))
def test_unary_special_values(name: str) -> None:
    values = np.array([INF, -INF, NAN, 0.0, 1.0, -1.0, 2.5, -0.5, 1e30, -200.0], F32)
    check(lambda ns, x: getattr(ns, name)(x), [values], order=1)


@pytest.mark.parametrize("name", [*UNARY, *TESTS, "bitwise_not"])
def test_unary_dtypes(name: str) -> None:
    for dtype in (np.bool_, np.uint8, np.int8, np.int32, np.int64, np.float16, F32, np.complex64):
        theirs, ours = pair(np.array([0, 1, 3]).astype(dtype))
        a, b = outcome(lambda x=theirs: getattr(torch, name)(x)), outcome(lambda x=ours: getattr(whygrad, name)(x))
        compare_outcomes(a, b, f"{name} of {dtype.__name__}")


def compare_outcomes(theirs: Any, ours: Any, where: str) -> None:
    assert theirs[0] == ours[0], f"{where}: torch {theirs}, we {ours}"
    if theirs[0] == "error":
        assert theirs[1] == ours[1], where
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert_same(theirs[1], ours[1], where)


ACTIVATIONS: dict[str, list[dict[str, Any]]] = {
    "relu": [{}], "relu6": [{}], "leaky_relu": [{}, {"negative_slope": 0.3}], "elu": [{}, {"alpha": 0.7}], "selu": [{}],
    "celu": [{}, {"alpha": 1.75}], "softplus": [{}, {"beta": 2, "threshold": 3}], "silu": [{}], "hardswish": [{}],
    "gelu": [{}, {"approximate": "tanh"}], "hardtanh": [{}, {"min_val": -0.3, "max_val": 1.0}], "hardsigmoid": [{}],
    "mish": [{}],
    "softsign": [{}], "logsigmoid": [{}], "tanhshrink": [{}], "threshold": [{"threshold": 0.5, "value": -2.0}],
}
ACTIVATION_CASES = [(name, options) for name, cases in ACTIVATIONS.items() for options in cases]


def activate(ns: Any, name: str, x: Any, **options: Any) -> Any:
    return getattr(torch.nn.functional if ns is torch else activation, name)(x, **options)


@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize(("name", "options"), ACTIVATION_CASES)
def test_activations(name: str, options: dict[str, Any], dtype: Any) -> None:
    # torch's hardsigmoid has no second derivative, and a slope of float32(1 / 6) for every dtype.
    order = 1 if name == "hardsigmoid" else 2
    rtol = 1e-7 if name == "hardsigmoid" and dtype is F64 else None
    for values in (PLAIN, ZEROS, np.array([-50.0, -20.5, 19.5, 21.0, 60.0]), np.array(0.7)):
        check(lambda ns, x: activate(ns, name, x, **options), [values.astype(dtype)], order=order, rtol=rtol)


@pytest.mark.parametrize(("name", "options"), ACTIVATION_CASES)
def test_activations_of_special_values(name: str, options: dict[str, Any]) -> None:
    # torch's gelu(inf) is NaN, in float32 only.
    values = [-INF, NAN] if (name, options) == ("gelu", {}) else [INF, -INF, NAN]
    check(lambda ns, x: activate(ns, name, x, **options), [np.array(values, F32)], order=1)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation_dtypes(name: str) -> None:
    for dtype in (np.bool_, np.uint8, np.int64, np.float16, np.complex64):
        theirs, ours = pair(np.array([0, 1, 3]).astype(dtype))
        options = ACTIVATIONS[name][0] if name != "threshold" else {"threshold": 1, "value": 2}
        a, b = (outcome(lambda ns=ns, x=x, options=options: activate(ns, name, x, **options))
                for ns, x in ((torch, theirs), (whygrad, ours)))
        compare_outcomes(a, b, f"{name} of {dtype.__name__}")


@pytest.mark.parametrize("name", ["relu", "relu6", "leaky_relu", "elu", "selu", "celu", "silu", "hardtanh",
                                  "hardsigmoid", "hardswish", "mish", "threshold"])
def test_activations_in_place(name: str) -> None:
    options = ACTIVATIONS[name][-1]

    def both(ns: Any, x: Any) -> Any:
        y = x * 1
        result = activate(ns, name, y, inplace=True, **options)
        assert result is y
        assert y._version == 1
        return y

    check(both, [ZEROS], order=1, rtol=1e-7 if name == "hardsigmoid" else None)


def test_hardsigmoid_has_no_second_derivative() -> None:
    def run(ns: Any) -> Any:
        x = ns.ones(2, requires_grad=True)
        g, = ns.autograd.grad(activate(ns, "hardsigmoid", x).sum(), x, create_graph=True)
        assert node_name(g) == "NotImplemented"
        g.sum().backward()

    same_error(lambda: run(torch), lambda: run(whygrad))


A = np.array([[-2.5, -1.0, 0.7], [0.2, 1.0, 3.5]])
B = np.array([[1.5, -2.0, 0.7], [-0.3, 4.0, 2.0]])
ROW = np.array([0.5, 2.0, -1.5])
TIES = (np.array([1.0, 2.0, 3.0, NAN, 1.0]), np.array([1.0, 3.0, 2.0, 1.0, NAN]))

BINARY_WITH_NUMBERS = ("add", "sub", "mul", "div", "remainder", "fmod", "true_divide", "multiply", "divide", "subtract")
BINARY_OF_TENSORS = ("atan2", "maximum", "minimum", "fmax", "fmin", "hypot", "copysign", "logaddexp", "logaddexp2")


@pytest.mark.parametrize("name", BINARY_WITH_NUMBERS + BINARY_OF_TENSORS)
@pytest.mark.parametrize("dtype", [F32, F64])
def test_binary(name: str, dtype: Any) -> None:
    def call(ns: Any, a: Any, b: Any) -> Any:
        return getattr(ns, name)(a, b)

    check(call, [A.astype(dtype), B.astype(dtype)])
    check(call, [A.astype(dtype), ROW.astype(dtype)])
    check(call, [np.array(2.5, dtype), A.astype(dtype)])
    # With mixed dtypes torch works out parts of a gradient in the smaller one.
    check(call, [A.astype(F32), B.astype(F64)], rtol=2e-6)
    check(call, [A.astype(dtype), np.array(2.0, F64)], rtol=2e-6)
    check(call, [A.astype(dtype), np.array([3, -2, 1])])


@pytest.mark.parametrize("name", [*BINARY_WITH_NUMBERS, "copysign"])
@pytest.mark.parametrize("number", [2, 2.5, -1.5, True])
def test_binary_with_a_number(name: str, number: Any) -> None:
    if name in ("sub", "subtract") and number is True:
        return
    check(lambda ns, a: getattr(ns, name)(a, number), [A.astype(F32)])


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "xlogy", "pow"])
def test_number_first(name: str) -> None:
    check(lambda ns, b: getattr(ns, name)(2.5, b), [POSITIVE.astype(F32)])


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "logaddexp"])
def test_binary_complex(name: str) -> None:
    def call(ns: Any, a: Any, b: Any) -> Any:
        return getattr(ns, name)(a, b)

    check(call, [COMPLEX, COMPLEX[::-1].copy()])
    if name != "logaddexp":  # torch fails inside for a mixture
        check(call, [COMPLEX, ROW])
        check(call, [ROW, COMPLEX])
        check(call, [ROW, 1 + 2j])


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin"])
def test_ties(name: str) -> None:
    check(lambda ns, a, b: getattr(ns, name)(a, b), list(TIES))


OPERATIONS: dict[str, Any] = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
    "mod": lambda x, y: x % y, "pow": lambda x, y: abs(x) ** y, "eq": lambda x, y: x == y, "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y, "le": lambda x, y: x <= y, "gt": lambda x, y: x > y, "ge": lambda x, y: x >= y,
}
UNARY_OPERATIONS: dict[str, Any] = {
    "neg": lambda x: -x, "pos": lambda x: +x * 1, "abs": abs, "radd": lambda x: 2 + x, "rsub": lambda x: 2 - x,
    "rmul": lambda x: 2.5 * x, "rdiv": lambda x: 2 / x, "rpow": lambda x: 2 ** x, "pow": lambda x: x ** 3,
    "np_scalar": lambda x: x * np.float64(2.5) + np.float32(1), "np_scalar_first": lambda x: np.float64(2.5) * x,
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_operators(name: str) -> None:
    operation = OPERATIONS[name]
    for other in (B, ROW.astype(F64), 2, 2.5, True) if name != "sub" else (B, ROW, 2, 2.5):
        check(lambda ns, x, y: operation(x, y), [A, other])
        check(lambda ns, x, y: operation(x, y), [A.astype(F32), other])


@pytest.mark.parametrize("name", UNARY_OPERATIONS)
def test_operators_with_a_number_first(name: str) -> None:
    check(lambda ns, x: UNARY_OPERATIONS[name](x), [A.astype(F32)])


def test_operators_refuse_what_they_do_not_know() -> None:
    theirs, ours = pair(A)
    for operation in (lambda x: x + "a", lambda x: "a" + x, lambda x: x * None, lambda x: x - [1], lambda x: x < "a",
                      lambda x: ~x, lambda x: x / "a", lambda x: x ** "a", lambda x: 1 - (x > 0)):
        same_error(lambda f=operation: f(theirs), lambda f=operation: f(ours))
    assert (ours == None) is False  # noqa: E711
    assert (ours != "a") is True


@pytest.mark.parametrize("name", ["add", "sub", "rsub"])
def test_alpha(name: str) -> None:
    def call(ns: Any, a: Any, b: Any) -> Any:
        return getattr(ns, name)(a, b, alpha=2.5)

    check(call, [A, B])
    check(call, [A.astype(F32), ROW.astype(F32)])
    check(call, [A.astype(F32), 3])
    check(lambda ns, a, b: getattr(ns, name)(a, b, alpha=2), [np.array([1, 2]), np.array([3, 4])])
    if name != "rsub":
        check(lambda ns, a, b: getattr(a * 1, f"{name}_")(b, alpha=2.5), [A, ROW], order=1)


@pytest.mark.parametrize("mode", ["trunc", "floor"])
def test_rounded_division(mode: str) -> None:
    def call(ns: Any, a: Any, b: Any) -> Any:
        return ns.div(a, b, rounding_mode=mode)

    for other in (B, ROW, 1.5, 2):
        check(call, [A, other])
    whole = np.array([-7, -6, 5, 6])
    for other in (np.array([2, -4, 3, -4]), 4, 2.5):
        check(call, [whole, other])
        check(call, [whole.astype(np.int8), other])
    check(lambda ns, a, b: (a * 1).div_(b, rounding_mode=mode), [A, ROW], order=1)


def test_floor_divide() -> None:
    check(lambda ns, a, b: ns.floor_divide(a, b), [A, B], order=0)
    check(lambda ns, a, b: a // b, [np.array([-7, 7]), np.array([2, -2])])
    check(lambda ns, a: 7 // a, [np.array([2, -2])])

    def backward(ns: Any, inplace: bool) -> None:
        x = ns.ones(2, requires_grad=True)
        y = (x * 1).floor_divide_(2) if inplace else x // 2
        assert node_name(y) == "NotImplemented"
        y.sum().backward()

    for inplace in (False, True):
        same_error(lambda inplace=inplace: backward(torch, inplace), lambda inplace=inplace: backward(whygrad, inplace))


POWERS = np.array([0.0, 0.5, 1.0, 2.0, 3.5])
EXPONENTS = np.array([0.0, 1.0, 2.0, 0.5, 3.0, -1.0, -0.5, -2.0, 2.5])


@pytest.mark.parametrize("dtype", [F32, F64])
@pytest.mark.parametrize("exponent", [*EXPONENTS.tolist(), 0, 1, 2, 3, -1])
def test_pow_of_tensor_to_number(exponent: Any, dtype: Any) -> None:
    check(lambda ns, x: x ** exponent, [POSITIVE.astype(dtype)])
    check(lambda ns, x: ns.pow(x, exponent), [POWERS.astype(dtype)], order=1)
    check(lambda ns, x: (x * 1).pow_(exponent), [POSITIVE.astype(dtype)], order=1)


@pytest.mark.parametrize("dtype", [F32, F64])
def test_pow_of_tensors(dtype: Any) -> None:
    base, exponent = (x.ravel().astype(dtype) for x in np.meshgrid(POWERS, EXPONENTS))
    check(lambda ns, x, y: x ** y, [base, exponent], order=1)
    check(lambda ns, x, y: x ** y, [POSITIVE.astype(dtype), POSITIVE[::-1].astype(dtype)])
    check(lambda ns, x, y: (x * 1).pow_(y), [POSITIVE.astype(dtype), POSITIVE[::-1].astype(dtype)], order=1)


@pytest.mark.parametrize("base", [0, 0.5, 1, 2, 3.5, -2.0])
def test_pow_of_number_to_tensor(base: Any) -> None:
    check(lambda ns, y: base ** y, [np.array([-1.0, 0.0, 1.0, 2.0])], order=1)
    check(lambda ns, y: ns.pow(base, y), [np.array([1.0, 2.0], F32)])


def test_pow_of_integers() -> None:
    for dtype in (np.int64, np.int8, np.uint8):
        check(lambda ns, x: x ** 3, [np.array([2, 3, 7]).astype(dtype)])
        check(lambda ns, x: x ** 0.5, [np.array([2, 3, 7]).astype(dtype)])
    check(lambda ns, x, y: x ** y, [np.array([1, -1, 2, -3, 5, -1]), np.array([-3, -3, -2, -1, 3, -2])])
    check(lambda ns, x: 2 ** x, [np.array([0, 1, 5])])
    check(lambda ns, x: x ** 2, [np.array([True, False])])


def test_pow_complex() -> None:
    for exponent in (2, 0.5, -1, 3.5, 1 + 1j):
        check(lambda ns, x, e=exponent: x ** e, [COMPLEX])
    check(lambda ns, x, y: x ** y, [COMPLEX, COMPLEX[::-1].copy()])
    check(lambda ns, y: 2.5 ** y, [COMPLEX])


def test_float_power() -> None:
    check(lambda ns, x, y: ns.float_power(x, y), [POSITIVE.astype(F32), np.array(2.0, F32)])
    check(lambda ns, x: ns.float_power(x, 2), [np.array([1, 2, 3])])
    check(lambda ns, x: ns.float_power(2, x), [POSITIVE.astype(F32)])
    check(lambda ns, x: (x * 1).float_power_(2), [POSITIVE], order=1)


def test_atan2_and_hypot_at_the_origin() -> None:
    for name in ("atan2", "hypot"):
        check(lambda ns, a, b, name=name: getattr(ns, name)(a, b), [np.zeros(2), np.array([0.0, 1.0])], order=1)


def test_xlogy() -> None:
    a, b = np.array([0.0, 0.0, 1.0, 2.0, 0.0]), np.array([0.0, 2.0, 3.0, 0.5, NAN])
    check(lambda ns, x, y: ns.xlogy(x, y), [a, b], order=1)
    check(lambda ns, x, y: ns.xlogy(x, y), [a[2:4], b[2:4]])
    for number in (0.0, 2.5):
        check(lambda ns, x, n=number: ns.xlogy(x, n), [a], order=1)
        check(lambda ns, y, n=number: ns.xlogy(n, y), [b], order=1)


CLAMPS: list[tuple[Any, Any]] = [(-1.0, 1.0), (None, 0.5), (0.0, None), (2.0, -2.0), (0, 1)]


@pytest.mark.parametrize(("low", "high"), CLAMPS)
def test_clamp(low: Any, high: Any) -> None:
    values = np.array([-2.0, -1.0, 0.0, 0.5, 1.0, NAN, INF])
    check(lambda ns, x: ns.clamp(x, low, high), [values])
    check(lambda ns, x: x.clip(min=low, max=high), [values.astype(F32)])
    check(lambda ns, x: (x * 1).clamp_(low, high), [values], order=1)
    check(lambda ns, x: ns.clamp(x, low, high), [np.array([-3, 0, 5])])


def test_clamp_to_tensors() -> None:
    x = np.array([-2.0, 0.0, 1.0, 2.0, 3.0])
    low, high = np.array([-1.0, 0.0, 2.0, 1.0, 4.0]), np.array([1.0, 0.0, 1.0, 2.0, 3.5])
    check(lambda ns, x, a, b: ns.clamp(x, a, b), [x, low, high])
    check(lambda ns, x, a: ns.clamp(x, a), [x, low])
    check(lambda ns, x, b: ns.clamp(x, max=b), [x, high])
    check(lambda ns, x, a, b: ns.clamp(x, a, b), [x, low[:1], np.array(0.5)])
    check(lambda ns, x, a: ns.clamp(x, a), [np.array([1, 2]), np.array(1.5)])
    for name in ("clamp_min", "clamp_max"):
        check(lambda ns, x, a, name=name: getattr(ns, name)(x, a), [x, low])
        check(lambda ns, x, name=name: getattr(ns, name)(x, 0.0), [x])
        check(lambda ns, x, a, name=name: getattr(x * 1, f"{name}_")(a), [x, low], order=1)


def test_where() -> None:
    mask = A > 0
    check(lambda ns, c, a, b: ns.where(c, a, b), [mask, A, B])
    check(lambda ns, c, a, b: ns.where(c, a, b), [mask, A, ROW.astype(F32)])
    check(lambda ns, c, a, b: ns.where(c, a, b), [mask[0], A, np.array(2.0)])
    check(lambda ns, c, a: ns.where(c, a, 2.5), [mask, A.astype(F32)])
    check(lambda ns, c, a: ns.where(c, 1, a), [mask, A.astype(F32)])
    check(lambda ns, c, a: a.where(c, 3.0), [mask, A.astype(F32)])
    for a, b in ((1, 2), (1.0, 2), (True, False), (1, 2j)):
        check(lambda ns, c, a=a, b=b: ns.where(c, a, b), [mask])
    check(lambda ns, c, a: ns.where(c, a, 2.5), [mask, np.arange(6).reshape(2, 3)])


def test_large_arrays_are_chosen_from_by_their_bits() -> None:
    rng = np.random.default_rng(0)
    for dtype in (F32, F64):
        x, y = rng.normal(size=(2, 70, 40)).astype(dtype)
        x[0, :6] = INF, -INF, NAN, 0.0, -0.0, 1e30
        check(lambda ns, a, b: ns.where(a > 0, a, b), [x, y])
        check(lambda ns, a: ns.where(a > 0, a, -2.5), [x])
        check(lambda ns, a, b: ns.where((a > 0).t(), a.t(), b.t()), [x, y])
        for call in (lambda ns, a: ns.relu(a) * ns.relu(a), lambda ns, a: ns.clamp(a, -1, 1) * a,
                     lambda ns, a: ns.maximum(a, ns.zeros_like(a)) * a):
            check(call, [x], order=1)  # gradients with inf and nan in them


def test_lerp() -> None:
    for weight in (0.0, 0.3, 0.5, 1.0, 1.7):
        check(lambda ns, a, b, w=weight: ns.lerp(a, b, w), [A, B])
        check(lambda ns, a, b, w=weight: (a * 1).lerp_(b, w), [A, ROW], order=1)
    check(lambda ns, a, b, w: ns.lerp(a, b, w), [A, B, ROW])
    check(lambda ns, a, b, w: ns.lerp(a, b, w), [A.astype(F32), B.astype(F32), np.array(0.3, F32)])


@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
@pytest.mark.parametrize("value", [1, 0.5, -2])
def test_addc(name: str, value: Any) -> None:
    check(lambda ns, x, a, b: getattr(ns, name)(x, a, b, value=value), [A, B, ROW])
    single = [ROW.astype(F32), A.astype(F32), np.array(2.0, F32)]
    check(lambda ns, x, a, b: getattr(ns, name)(x, a, b, value=value), single)
    check(lambda ns, x, a, b: getattr(x * 1, f"{name}_")(a, b, value=value), [A, B, ROW], order=1)


def test_options_of_unary_functions() -> None:
    values = np.array([1.2345, -1234.5, 0.5, 2.5, 0.15])
    for decimals in (0, 2, -2):
        check(lambda ns, x, d=decimals: ns.round(x, decimals=d), [values])
        check(lambda ns, x, d=decimals: (x * 1).round_(decimals=d), [values], order=1)
    check(lambda ns, x: ns.logit(x, 0.2), [np.array([0.0, 0.1, 0.2, 0.5, 0.8, 1.0])])
    check(lambda ns, x: (x * 1).logit_(eps=0.2), [UNIT], order=1)
    special = np.array([NAN, INF, -INF, 1.0], F32)
    check(lambda ns, x: ns.nan_to_num(x, 1.0, posinf=2.0), [special])
    check(lambda ns, x: (x * 1).nan_to_num_(neginf=-5.0), [special], order=1)
    for dtype in ("float16", "bfloat16"):
        check(lambda ns, x, d=dtype: x.to(getattr(ns, d)).nan_to_num(0.5, neginf=-1e300).float(), [special], order=1)
    check(lambda ns, x: x.nan_to_num(posinf=1e300), [np.resize(special, 10000)], order=1)


COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
COMPARISON_ALIASES = ("not_equal", "less", "less_equal", "greater", "greater_equal")


@pytest.mark.parametrize("name", COMPARISONS + COMPARISON_ALIASES)
def test_comparisons(name: str) -> None:
    check(lambda ns, a, b: getattr(ns, name)(a, b), [np.array([1.0, 2.0, NAN]), np.array([1.0, 3.0, NAN])])
    check(lambda ns, a, b: getattr(ns, name)(a, b), [np.array([1, 2, 3]), np.array([1.5, 2.0, 2.5], F32)])
    check(lambda ns, a: getattr(a, name)(2), [np.array([1, 2, 3], np.uint8)])
    check(lambda ns, a: getattr(ns, name)(a, -1), [np.array([1, 255], np.uint8)])
    check(lambda ns, a: getattr(a * 1, f"{name}_")(2.0), [np.array([1.0, 2.0, 3.0])], order=1)
    check(lambda ns, a, b: getattr(a * 1, f"{name}_")(b), [A, B], order=1)
    check(lambda ns, a: getattr(a, f"{name}_")(1.5), [np.array([1, 2])])


DTYPES = (np.bool_, np.uint8, np.int8, np.int64, np.float16, F32, np.complex64)
MATRIX = ("add", "sub", "rsub", "mul", "div", "floor_divide", "remainder", "fmod", "pow", "float_power", "atan2",
          "maximum", "minimum", "fmax", "fmin", "hypot", "copysign", "xlogy", "logaddexp", "logaddexp2", "eq", "lt",
          "logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift",
          "bitwise_right_shift")


@pytest.mark.parametrize("name", MATRIX)
def test_dtype_matrix(name: str) -> None:
    operands = [*(np.array([1, 2, 3]).astype(d) for d in DTYPES), np.array(2), np.array(2.5), True, 2, 2.5, 2j]
    for left, right in itertools.product(operands, operands):
        if not (isinstance(left, np.ndarray) or isinstance(right, np.ndarray)):
            continue
        x, y = (pair(v) if isinstance(v, np.ndarray) else (v, v) for v in (left, right))
        a = outcome(lambda x=x, y=y: getattr(torch, name)(x[0], y[0]))
        b = outcome(lambda x=x, y=y: getattr(whygrad, name)(x[1], y[1]))
        if "ComplexHalf" in str(a[1]) or "complex32" in str(b[1]):
            continue  # NumPy has no such type
        compare_outcomes(a, b, f"{name}({describe(left)}, {describe(right)})")


def describe(value: Any) -> str:
    return f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else repr(value)


def test_shifts() -> None:
    values = np.array([1, -5, 7])
    for amount in (0, 1, 63, 64, 70, -1):
        check(lambda ns, x, n=amount: x << n, [values])
        check(lambda ns, x, n=amount: x >> n, [values])
    check(lambda ns, x: 1 << x, [np.array([0, 3, 5])])


@pytest.mark.parametrize("name", [n for n in UNARY if n not in NO_INPLACE_METHOD])
def test_unary_in_place(name: str) -> None:
    def both(ns: Any, x: Any) -> Any:
        y = x * 1
        result = getattr(y, f"{name}_")()
        assert result is y
        assert y._version == 1
        return y

    check(both, [UNARY[name]], order=0 if name.startswith("a") and name.endswith("h") else 1)
    theirs, ours = pair(np.array([1, 2]))
    compare_outcomes(outcome(lambda: getattr(theirs, f"{name}_")()), outcome(lambda: getattr(ours, f"{name}_")()), name)


@pytest.mark.parametrize("name", ["asinh", "acosh", "atanh"])
def test_inplace_without_derivative(name: str) -> None:
    def run(ns: Any) -> None:
        x = ns.ones(2, requires_grad=True)
        getattr(x * 1, f"{name}_")().sum().backward()

    same_error(lambda: run(torch), lambda: run(whygrad))


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "remainder", "fmod", "atan2", "hypot", "copysign",
                                  "xlogy", "pow"])
def test_binary_in_place(name: str) -> None:
    def call(ns: Any, a: Any, b: Any) -> Any:
        y = a * 1
        assert getattr(y, f"{name}_")(b) is y
        assert y._version == 1
        return y

    a, b = np.abs(A), np.abs(B)
    check(call, [a, b], order=1)
    check(call, [a, np.abs(ROW)], order=1)
    check(call, [a.astype(F32), b], order=1, rtol=2e-6)
    if name not in ("atan2", "hypot"):
        check(call, [a, 2.5], order=1)
    for left, right in ((np.array([1, 2]), 2.5), (np.array([1, 2]), np.array([1.5, 2.5])), (np.array([True, False]), 1),
                        (np.array([1.0, 2.0]), np.ones((3, 2))), (np.array([1.0, 2.0]), np.ones(3)), (np.ones(2), "a")):
        x, y = pair(left), pair(right) if isinstance(right, np.ndarray) else (right, right)
        first = outcome(lambda x=x, y=y: getattr(x[0], f"{name}_")(y[0]))
        second = outcome(lambda x=x, y=y: getattr(x[1], f"{name}_")(y[1]))
        if isinstance(right, str):
            assert first[1][0] == second[1][0]
        else:
            compare_outcomes(first, second, f"{name}_ of {describe(left)}, {describe(right)}")


def test_augmented_assignment() -> None:
    def run(ns: Any, x: Any) -> Any:
        y = x * 1
        y += 2
        y -= 0.5
        y *= x
        y /= 4
        y **= 2
        y %= 3
        assert y._version == 6
        return y

    check(run, [A])


@pytest.mark.parametrize("name", ["exp", "add", "mul", "div", "eq", "clamp", "where", "pow", "maximum", "logical_not",
                                  "threshold"])
def test_out(name: str) -> None:
    arguments: dict[str, Any] = {"exp": [A], "logical_not": [A], "clamp": [A, 0.0, 1.0], "where": [A > 0, A, B],
                                 "pow": [np.abs(A), 2.0], "threshold": [A, 0.5, 1.0]}
    for dtype, shape in itertools.product((F64, F32, np.int64), ((2, 3), (0,), (4,))):
        results = []
        for ns, index in ((torch, 0), (whygrad, 1)):
            given = [pair(a)[index] if isinstance(a, np.ndarray) else a for a in arguments.get(name, [A, B])]
            target = ns.zeros(*shape, dtype=getattr(ns, np.dtype(dtype).name))
            results.append(outcome(lambda ns=ns, given=given, target=target: getattr(ns, name)(*given, out=target)))
        compare_outcomes(*results, where=f"{name} into {dtype.__name__}{shape}")
    for out in ([1], "a"):
        given = [pair(a) if isinstance(a, np.ndarray) else (a, a) for a in arguments.get(name, [A, B])]
        same_error(lambda out=out, given=given: getattr(torch, name)(*(g[0] for g in given), out=out),
                   lambda out=out, given=given: getattr(whygrad, name)(*(g[1] for g in given), out=out),
                   text=name in ("exp", "add"))
    theirs, ours = pair(A, requires_grad=True)
    if name in ("exp", "add"):
        rest = () if name == "exp" else (1,)
        same_error(lambda: getattr(torch, name)(theirs, *rest, out=torch.zeros(2, 3)),
                   lambda: getattr(whygrad, name)(ours, *rest, out=whygrad.zeros(2, 3)))


ERRORS: dict[str, Any] = {
    "add of str": lambda ns, f, i, b: ns.add(f, "a"),
    "str first": lambda ns, f, i, b: ns.add("a", f),
    "mul of None": lambda ns, f, i, b: ns.mul(f, None),
    "exp of number": lambda ns, f, i, b: ns.exp(3),
    "maximum of number": lambda ns, f, i, b: ns.maximum(f, 2),
    "eq of str": lambda ns, f, i, b: ns.eq(f, "a"),
    "alpha": lambda ns, f, i, b: ns.add(i, 1, alpha=2.5),
    "bool alpha": lambda ns, f, i, b: ns.add(i, i, alpha=True),
    "complex alpha": lambda ns, f, i, b: ns.add(f, f, alpha=2j),
    "bool minus bool": lambda ns, f, i, b: b - b,
    "bool minus float": lambda ns, f, i, b: b - f,
    "minus bool": lambda ns, f, i, b: -b,
    "rounding mode": lambda ns, f, i, b: ns.div(f, 2, rounding_mode="x"),
    "floor by zero": lambda ns, f, i, b: i // 0,
    "remainder by zero": lambda ns, f, i, b: i % 0,
    "fmod by zero": lambda ns, f, i, b: ns.fmod(i, 0),
    "negative power": lambda ns, f, i, b: i ** -1,
    "power of numbers": lambda ns, f, i, b: ns.pow(2, 3),
    "lerp dtype": lambda ns, f, i, b: ns.lerp(f, f.double(), 0.5),
    "lerp weight dtype": lambda ns, f, i, b: ns.lerp(f, f, f.double()),
    "lerp of integers": lambda ns, f, i, b: ns.lerp(i, i, 0.5),
    "addcdiv of integers": lambda ns, f, i, b: ns.addcdiv(i, i, i),
    "addcmul of number": lambda ns, f, i, b: ns.addcmul(f, 1, f),
    "broadcast": lambda ns, f, i, b: f + ns.ones(3),
    "broadcast inner": lambda ns, f, i, b: ns.ones(2, 3, 4) * ns.ones(3, 2, 1),
    "broadcast where": lambda ns, f, i, b: ns.where(b, ns.ones(3), f),
    "where condition": lambda ns, f, i, b: ns.where(f, f, f),
    "where str": lambda ns, f, i, b: ns.where(b, "a", f),
    "clamp of nothing": lambda ns, f, i, b: ns.clamp(f),
    "clamp mixed": lambda ns, f, i, b: ns.clamp(f, f, 3),
    "clamp str": lambda ns, f, i, b: ns.clamp(f, "a"),
    "clamp complex": lambda ns, f, i, b: ns.clamp(f, 2j),
    "too large": lambda ns, f, i, b: ns.add(i, 2 ** 70),
    "relu inplace": lambda ns, f, i, b: ns.relu(f, inplace=True),
    "logit eps": lambda ns, f, i, b: ns.logit(f, eps="a"),
    "float_power_": lambda ns, f, i, b: f.float_power_(2),
    "gelu": lambda ns, f, i, b: activate(ns, "gelu", f, approximate="x"),
    "hardtanh": lambda ns, f, i, b: activate(ns, "hardtanh", f, min_val=2.0, max_val=1.0),
    "leaf in place": lambda ns, f, i, b: f.requires_grad_().exp_(),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    arrays = (np.array([1.0, 2.0], F32), np.array([1, 2]), np.array([True, False]))
    theirs, ours = zip(*(pair(a) for a in arrays), strict=True)
    a = outcome(lambda: ERRORS[name](torch, *theirs))
    assert a[0] == "error", a
    same_error(lambda: ERRORS[name](torch, *theirs), lambda: ERRORS[name](whygrad, *ours), text=name != "relu inplace")


# What a row saves is what a later in-place change of it spoils.
SAVES_INPUT = ("abs", "log", "sin", "cos", "sinh", "cosh", "asin", "atan", "erf", "sgn", "square", "log1p")
SAVES_RESULT = ("exp", "expm1", "sqrt", "rsqrt", "reciprocal", "tanh", "sigmoid", "relu", "tan", "exp2")
SAVES_NOTHING = ("neg", "sign", "floor", "frac", "deg2rad")


@pytest.mark.parametrize("name", SAVES_INPUT + SAVES_RESULT + SAVES_NOTHING)
@pytest.mark.parametrize("change", ["input", "result"])
def test_saved_values(name: str, change: str) -> None:
    """Which of them must not change before backward."""

    def run(ns: Any) -> None:
        x = ns.ones(2, requires_grad=True)
        y = x * 0.5
        z = getattr(ns, name)(y)
        (y if change == "input" else z).add_(1)
        z.sum().backward()

    same_error(lambda: run(torch), lambda: run(whygrad), text=change == "result")


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "remainder", "pow", "atan2", "maximum", "hypot", "lerp",
                                  "addcmul", "where", "clamp"])
@pytest.mark.parametrize("requires", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("changed", [0, 1, 2])
def test_saved_values_of_binary(name: str, requires: tuple[bool, bool], changed: int) -> None:
    def run(ns: Any) -> None:
        a, b = (ns.ones(2, requires_grad=r) * 1.5 for r in requires)
        rest = (0.3,) if name == "lerp" else ()
        first = {"addcmul": (ns.ones(2),), "where": (ns.ones(2) > 0,)}.get(name, ())
        out = getattr(ns, name)(*first, a, b, *rest)
        (a, b, out)[changed].add_(1)
        out.sum().backward()

    same_error(lambda: run(torch), lambda: run(whygrad), text=changed == 2)


def test_erf_is_accurate_to_the_last_digits() -> None:
    x = np.concatenate([np.linspace(-28, 28, 20001), np.random.default_rng(0).normal(size=20000)])
    erf, erfc = np.array([math.erf(v) for v in x]), np.array([math.erfc(v) for v in x])
    np.testing.assert_allclose(numpy_erf.erf(x), erf, rtol=5e-16, atol=0)
    large = erfc > 1e-300
    np.testing.assert_allclose(numpy_erf.erfc(x)[large], erfc[large], rtol=1e-15, atol=0)
    single = x.astype(F32)
    exact = np.array([math.erf(v) for v in single])
    np.testing.assert_allclose(numpy_erf.erf(single), exact, rtol=6e-7, atol=0)
    assert numpy_erf.erf(single).dtype == F32
    assert to_numpy(whygrad.erf(whygrad.from_numpy(np.array(NAN)))) != 0
