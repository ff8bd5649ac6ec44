"""Elementwise rows and rules as machine code: the same numbers as NumPy's, for every kind of array."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whygrad import kernels
from whygrad.backends import raw
from whygrad.kernels.functions import ERF_SPLIT
from whygrad.kernels.jit import JitElementwise, kinds_of
from whygrad.kernels.pointwise import compile_formula, inputs
from whygrad.kernels.trace import Untraceable, trace, vocabulary
from whygrad.ops import TABLE
from whygrad.ops.table import Rule

SPECIAL = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 1e-40, -1e-45, 3.4e38, -3.4e38, 88.8, -87.5, -103.0, 0.625, 9.1,
           1e-7]


class Declined(Exception):
    pass


def refuse(*args: Any) -> Any:
    raise Declined


def compiled(name: str, kinds: str, code: str = "f4", **statics: Any) -> Any:
    formula = trace(lambda *symbols: TABLE[name].forward(vocabulary, *symbols, **statics), *inputs(kinds))
    return compile_formula(name, formula, kinds, (refuse, refuse), code)


def units_in_the_last_place(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    return np.abs(got.astype("f8") - exact) / np.spacing(np.abs(exact).astype("f4")).astype("f8")


@pytest.mark.parametrize(("name", "exact", "low", "high"), [
    ("exp", np.exp, -87.0, 88.7), ("log", np.log, 1e-38, 1e38), ("tanh", np.tanh, -10.0, 10.0),
    ("erf", np.vectorize(math.erf), -5.0, 5.0), ("erfc", np.vectorize(math.erfc), -5.0, 9.0),
    ("erfinv", raw.erfinv, -1.0, 1.0),
    ("sigmoid", lambda x: 1 / (1 + np.exp(-x)), -80.0, 80.0),
])
def test_functions_are_good_to_two_units(name, exact, low, high):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(low, high, 20000), rng.uniform(max(low, -1), min(high, 1), 20000),
                        [ERF_SPLIT, np.nextafter(np.float32(0.625), 0)]]).astype("f4")
    if name == "log":
        x = np.abs(np.concatenate([x, np.exp(rng.uniform(-87, 88, 20000)).astype("f4")]))
    assert units_in_the_last_place(compiled(name, "a")(x), exact(x.astype("f8"))).max() < 2


@pytest.mark.parametrize(("name", "statics"), [("lgamma", {}), ("digamma", {}), ("polygamma", {"n": 1})])
def test_the_gamma_functions_are_good_to_one_unit(name, statics):
    rng = np.random.default_rng(0)
    near = [centre + rng.uniform(-1e-5, 1e-5, 500) for centre in (1.0, 2.0, 1.4616321, 0.5, -0.5, 8.0)]
    x = np.concatenate([rng.uniform(-30, 30, 5000), 10 ** rng.uniform(-18, 36, 5000), -10 ** rng.uniform(-18, 6, 2000), *near,
                        [0.0, -0.0, 1.0, 2.0, -1.0, -7.0, math.nan, math.inf, -math.inf]]).astype("f4")
    exact = getattr(raw, name)(x.astype("f8"), **statics)
    got = compiled(name, "a", **statics)(x)
    finite = np.isfinite(exact)
    assert units_in_the_last_place(got[finite], exact[finite]).max() < 1
    np.testing.assert_array_equal(got[~finite], exact[~finite].astype("f4"))


@pytest.mark.parametrize("name", ["exp", "log", "tanh", "erf", "erfc", "erfinv", "sigmoid", "sqrt", "abs", "neg", "sign", "relu",
                                  "floor", "round", "reciprocal", "rsqrt", "isnan"])
def test_special_values(name):
    x = np.array(SPECIAL * 3, "f4")
    ours, theirs = compiled(name, "a")(x), np.asarray(getattr(raw, name)(x))
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=3e-7, atol=2e-45)
    if ours.dtype != np.bool_:
        zeros = np.isfinite(theirs) & (theirs == 0)
        assert (np.signbit(ours) == np.signbit(theirs))[zeros].all()


def test_saturation_is_exact():
    x = np.array([9.1, 20.0, 1e30, math.inf, -9.1, -math.inf] * 4, "f4")
    assert (np.abs(compiled("tanh", "a")(x)) == 1).all()
    assert (np.abs(compiled("erf", "a")(x)) == 1).all()


def test_denormals_are_kept():
    x = np.linspace(-103, -88, 64).astype("f4")
    np.testing.assert_allclose(compiled("exp", "a")(x), np.exp(x.astype("f8")), rtol=0, atol=1.5e-45)


ELEMENTWISE = sorted(name for name, row in TABLE.items() if row.broadcasts and not row.variadic and row.outputs != "list"
                     and len(row.outputs) == 1 and not row.statics)


@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_rows_and_rules_equal_numpy(name, code):
    """Everything that can be traced; what cannot is NumPy's anyhow."""
    row = TABLE[name]
    rng = np.random.default_rng(1)
    arrays = {x: rng.uniform(0.1, 0.9, 67).astype(code) for x in (*row.inputs, "g")}
    traced = 0
    functions = [(row.inputs, row.forward, getattr(raw, name))]
    functions += [(rule.names[("xp" in rule.names):], rule.function, rule.function) for rule in row.rules.values()
                  if isinstance(rule, Rule) and not any(n.endswith("_shape") for n in rule.names)]
    for i, (names, function, numpy) in enumerate(functions):
        takes = function.__code__.co_varnames[0] == "xp"
        symbols = inputs("a" * len(names))
        try:
            formula = trace(lambda *s, f=function, t=takes: f(vocabulary, *s) if t else f(*s), *symbols)
            kernel = compile_formula(name, formula, "a" * len(names), (refuse, refuse), code)
        except Untraceable:
            continue
        traced += 1
        values = dict(arrays, out=np.asarray(getattr(raw, name)(*[arrays[x] for x in row.inputs])))
        if values["out"].dtype != arrays["g"].dtype and "out" in names:
            continue
        args = [values[x] for x in names]
        theirs = np.asarray(numpy(*args) if i == 0 else function(raw, *args) if takes else function(*args))
        ours = kernel(*args)
        assert ours.dtype == theirs.dtype, names
        np.testing.assert_allclose(ours, np.broadcast_to(theirs, ours.shape), rtol=3e-6 if code == "f4" else 1e-12, atol=1e-7)
    if name in ("mul", "add", "relu", "tanh_backward"):
        assert traced


def strided(draw: Any, n: int) -> np.ndarray:
    x = np.array(draw(st.lists(st.sampled_from(SPECIAL), min_size=n, max_size=n)), "f4")
    how = draw(st.sampled_from(["plain", "stepped", "reversed", "expanded", "unaligned", "read-only", "two-dim", "transposed"]))
    if how == "stepped":
        return np.repeat(x, 2)[::2]
    if how == "reversed":
        return x[::-1]
    if how == "expanded":
        return np.broadcast_to(x[:1] if n else np.zeros(1, "f4"), (n,))
    if how == "unaligned":
        return np.frombuffer(b"\0" + x.tobytes(), "f4", offset=1) if n else x
    if how == "read-only":
        x.flags.writeable = False
    if how in ("two-dim", "transposed") and n % 2 == 0:
        return x.reshape(2, n // 2) if how == "two-dim" else x.reshape(n // 2, 2).T
    return x


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_array_gives_what_numpy_gives(data):
    n = data.draw(st.sampled_from([0, 1, 2, 15, 16, 17, 64, 70]))
    a, b = strided(data.draw, n), strided(data.draw, n)
    warm = JitElementwise("mul", np.multiply, lambda x, y: TABLE["mul"].forward(vocabulary, x, y))
    warm.calls = 10 ** 9
    scope: dict[str, Any] = {}
    warm.put(scope, "mul")
    try:
        with np.errstate(all="ignore"):
            theirs = np.multiply(a, b)
    except ValueError:
        with pytest.raises(ValueError, match="broadcast"):
            scope["mul"](a, b)
        return
    with np.errstate(all="ignore"):
        for _ in range(2):  # the second time the compiled function stands in the scope
            np.testing.assert_array_equal(scope["mul"](a, b), theirs)


def test_large_arrays_on_all_threads():
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((2, 300_001)).astype("f4")
    np.testing.assert_array_equal(compiled("mul", "aa")(a, b), a * b)
    np.testing.assert_array_equal(compiled("add", "as")(a, 0.1), a + np.float32(0.1))


def test_numbers_and_none():
    x = np.linspace(-2, 2, 40, dtype="f4")
    clamp = compiled("clamp", "asn")
    np.testing.assert_array_equal(clamp(x, -1, None), np.maximum(x, -1))
    np.testing.assert_array_equal(clamp(x, 0.5, None), np.maximum(x, np.float32(0.5)))
    for wrong in ((x, 2 ** 70, None), (x, "a", None), (x, True, None), (x, 1.0, 2.0), (x, 1.0)):
        with pytest.raises(Declined):
            clamp(*wrong)


@pytest.mark.parametrize(("args", "kinds"), [
    ((np.ones(2, "f4"), 1, None), ("asn", "f4")), ((np.ones(2), np.ones(2, bool)), ("am", "f8")),
    ((np.ones(2, "f4"), "none"), ("ac", "f4")), ((np.ones(2, "i8"),), ("?", "f4")),
    ((np.ones(2), np.ones(2, "f4")), ("??", "f4")), ((np.ones(2, "f2"),), ("a", "f2")),
])
def test_kinds(args, kinds):
    assert kinds_of(args) == kinds


@pytest.mark.parametrize("function", [lambda x: x.shape, lambda x: 1 if x else 2, lambda x: x ** 2.5,
                                      lambda x: vocabulary.cumsum(x), lambda x: 3.0, lambda x: vocabulary.tan(x),
                                      lambda x: x + "a", lambda x: vocabulary.sum(x, axis=(0,)),
                                      lambda x: x - vocabulary.mean(x), lambda x: vocabulary.exp(vocabulary.sum(x))])
def test_what_is_not_one_pass_is_not_traced(function):
    with pytest.raises(Untraceable):
        trace(function, *inputs("a"))


def test_what_is_passed_on_is_not_copied():
    scope = {}
    kernels.warm("same", lambda g: g, lambda g: g, takes_vocabulary=False).put(scope, "same")
    x = np.zeros(100_000, np.float32)
    assert scope["same"](x) is x
    assert scope["same"](x) is x
