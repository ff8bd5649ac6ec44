"""The pen writes the derivative of every row."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
from row_samples import SAMPLES

import whygrad
from whygrad.backends import formula as ink
from whygrad.ops.table import TABLE, NoGrad

SHORT = {
    "add": {"a": "g", "b": "g"},
    "mul": {"a": "g * b", "b": "g * a"},
    "div": {"a": "g / b", "b": "-g * a / b / b"},
    "exp": {"x": "g * out"},
    "tanh": {"x": "g * (1 - out * out)"},
    "relu": {"x": "where(out <= 0, 0, g)"},
    "softmax": {"x": "(g - sum(g * out, axis=axis, keepdims=True)) * out"},
    "sum": {"x": "expand(g, shape=x_shape)"},
    "mm": {"a": "g @ t(b)", "b": "t(a) @ g"},
    "pow_number": {"a": "g * exponent * a ** (exponent - 1)"},
    "xlogy": {"a": "where((a == 0) & (b <= 0), 0, xlogy(g, b))", "b": "g * a / b"},
    "hardsigmoid": {"x": "where((x > -3) & (x < 3), g / 6, 0)"},
}


@pytest.mark.parametrize("name", SHORT)
def test_short_formulas(name: str) -> None:
    assert whygrad.formula(name).rules == SHORT[name]


@pytest.mark.parametrize("name", ["torch.sum", "torch.Tensor.sum", "sum"])
def test_names_as_the_program_writes_them(name: str) -> None:
    assert whygrad.formula(name).rules == SHORT["sum"]


@pytest.mark.parametrize("name", TABLE)
def test_every_row_can_be_written(name: str) -> None:
    row = TABLE[name]
    written = whygrad.formula(name)
    assert list(written.rules) == list(row.inputs)
    for argument, text in written.rules.items():
        rule = row.rules[argument]
        if isinstance(rule, NoGrad):
            assert text == f"none: {rule.reason}"
            continue
        assert text.strip()
        assert not re.search(r"\bxp\b|<lambda>|<function| object at ", text), text
        assert text.count("(") == text.count(")") or "\n" in text, text
    first, *rest = str(written).splitlines()
    assert first.startswith(f"{name}(")
    assert len(rest) >= len(row.inputs)


@pytest.mark.parametrize("name", TABLE)
def test_known_options_only_make_it_clearer(name: str) -> None:
    """With the options of a real application, a formula is written as well; never an error."""
    row = TABLE[name]
    for sample in SAMPLES[name]:
        known = dict(getattr(sample, "statics", None) or {})
        for argument in row.inputs:
            assert ink.write(row, argument, known)


def test_most_rows_are_written_by_the_pen_itself() -> None:
    rules = [(row, rule) for row in TABLE.values() for rule in row.rules.values() if not isinstance(rule, NoGrad)]
    by_pen = 0
    for row, rule in rules:
        try:
            ink._traced(row, rule, {})
            by_pen += 1
        except Exception:
            continue
    assert by_pen > 0.6 * len(rules)


def test_what_is_written_is_the_derivative() -> None:
    """A formula of plain arithmetic can be computed: it gives what the rule gives."""
    x = 0.7
    for name, out, words in [("tanh", math.tanh(x), {}), ("exp", math.exp(x), {}), ("sigmoid", 1 / (1 + math.exp(-x)), {}),
                             ("sqrt", math.sqrt(x), {}), ("log", math.log(x), {}), ("reciprocal", 1 / x, {})]:
        leaf = whygrad.tensor(x, dtype=whygrad.float64, requires_grad=True)
        getattr(whygrad, name)(leaf).backward()
        text = whygrad.formula(name).rules["x"]
        assert eval(text, {"g": 1.0, "x": x, "out": out, **words}) == pytest.approx(leaf.grad.item()), text


def test_a_formula_in_words_is_the_derivative() -> None:
    """What is said of layer_norm, computed with NumPy."""
    rng = np.random.default_rng(0)
    x, g, weight = rng.normal(size=(3, 5)), rng.normal(size=(3, 5)), rng.normal(size=5)

    def deviation(x: Any) -> Any:
        return np.sqrt(x.var(1, keepdims=True) + 1e-5)

    words = {"x": x, "g": g, "weight": weight, "deviation": deviation, "axis": 1,
             "mean": lambda a, axis: a.mean(axis, keepdims=True),
             "standardized": lambda x: (x - x.mean(1, keepdims=True)) / deviation(x)}
    leaf, scale = (whygrad.tensor(a, requires_grad=True) for a in (x, weight))
    whygrad.nn.functional.layer_norm(leaf, (5,), scale).backward(whygrad.tensor(g))
    np.testing.assert_allclose(eval(whygrad.formula("layer_norm").rules["x"], words), leaf.grad.numpy())
    assert whygrad.formula("layer_norm").rules["weight"] == "sum(g * standardized(x), all axes but axis)"


def test_a_function_made_of_other_ops() -> None:
    shown = str(whygrad.formula("cross_entropy"))
    assert shown.startswith("cross_entropy is made of log_softmax and nll_loss:\n")
    assert "d log_softmax / d x = g - exp(out) * sum(g" in shown
    assert [part.name for part in whygrad.formula("conv2d").parts] == ["convolution"]
    for name, rows in ink.MADE_OF.items():
        assert set(rows) <= set(TABLE), name


def test_of_a_tensor_or_a_node_with_its_shapes() -> None:
    x = whygrad.ones(2, 3, requires_grad=True)
    assert whygrad.formula(x.mean(0)).rules["x"] == "expand(reshape(g / 2, shape=(1, 3)), shape=(2, 3))"
    assert whygrad.formula((x * 2).grad_fn).rules["a"] == "g * b"
    assert whygrad.formula("MulBackward0").name == "mul"
    assert whygrad.formula(whygrad.cat([x, x])).rules["xs"].startswith("[slice(g, axis=0, start=0, stop=2")


def test_a_wrong_name_is_told() -> None:
    with pytest.raises(ValueError, match="did you mean 'sigmoid'"):
        whygrad.formula("sigmoit")
    with pytest.raises(TypeError, match="takes the name of an op"):
        whygrad.formula(3)
    with pytest.raises(TypeError, match="takes the name of an op"):
        whygrad.formula(whygrad.ones(2))
