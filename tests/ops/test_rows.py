"""Every row of the table, below the torch-named functions; and proof that the checks find what they look for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from row_checks import Sample, check_quiet, check_reasons, check_sample
from row_samples import FAMILIES, SAMPLES
from row_samples.making import case, imaginary, real

from whygrad import Tensor
from whygrad.backends import raw, tensor
from whygrad.core import record as _apply
from whygrad.ops.table import TABLE, NoGrad, Row, Rule, elementwise, op, view


def test_every_row_has_samples() -> None:
    missing, unknown = sorted(TABLE.keys() - SAMPLES.keys()), sorted(SAMPLES.keys() - TABLE.keys())
    assert not missing, f"no samples in row_samples for {missing}"
    assert not unknown, f"samples for {unknown}, which are not rows"
    assert all(SAMPLES.values()), "an empty list of samples"
    assert len(SAMPLES) == sum(len(family.SAMPLES) for family in FAMILIES), "a row has samples in two families"


@pytest.mark.parametrize(("name", "sample"), [
    pytest.param(name, sample, id=f"{name}-{i}") for name, samples in SAMPLES.items() for i,
    sample in enumerate(samples)])
def test_row(name: str, sample: Sample) -> None:
    check_sample(TABLE[name], sample)


@pytest.mark.parametrize("name", SAMPLES)
def test_row_is_quiet(name: str) -> None:
    for sample in SAMPLES[name]:
        check_quiet(TABLE[name], sample)


def test_every_missing_derivative_has_a_reason() -> None:
    for row in TABLE.values():
        check_reasons(row)


# The samples leave no rule unwatched: a small error in any of them, one at a time, is found.

def a_little_off(gradient: Any) -> Any:
    return gradient * 1.001 + 0.001


def without_history(gradient: Any) -> Any:
    return gradient.detach() if isinstance(gradient, Tensor) else gradient


def has_history(gradient: Any) -> bool:
    return isinstance(gradient, Tensor) and gradient.requires_grad


def is_noticed(row: Row, rule: Rule, change: Callable[[Any], Any]) -> bool:
    """Whether a check finds the change, or nothing changes: the rule gives no gradient, or one without history."""
    right, changed = rule.function, []
    several = row.variadic or rule is row.at_once

    def wrong(*arguments: Any) -> Any:
        gradients = right(*arguments) if several else [right(*arguments)]
        results = [x if x is None else change(x) for x in gradients]
        changed.extend([x for x in gradients if x is not None and (change is a_little_off or has_history(x))])
        return results if several else results[0]

    rule.function = wrong
    forget(row.name)
    try:
        for sample in SAMPLES[row.name]:
            check_sample(row, sample)
    except AssertionError:
        return True
    finally:
        rule.function = right
        forget(row.name)
    return not changed


@pytest.mark.parametrize("change", [a_little_off, without_history])
def test_an_error_in_any_rule_is_found(change: Callable[[Any], Any]) -> None:
    unnoticed = [f"d {row.name} / d {argument}" for row in TABLE.values()
                 for argument, rule in (*row.rules.items(), ("all", row.at_once))
                 if isinstance(rule, Rule) and not is_noticed(row, rule, change)]
    assert not unnoticed


def forget(name: str) -> None:
    """What was compiled for a row."""
    for compiled in (_apply._specializations, _apply._by_types):
        for key in [key for key in compiled if name in (key[0], getattr(key[0], "name", None))]:
            del compiled[key]


# Rows with an error each, and the words in which it is found.

@pytest.fixture
def temporary_rows() -> Iterator[None]:
    """Rows that the test declares are gone afterwards."""
    known = set(TABLE)
    yield
    for name in set(TABLE) - known:
        del TABLE[name]
        for vocabulary in (raw, tensor):
            vocabulary.__dict__.pop(name, None)
        forget(name)


def plant(forward: Callable[..., Any], kind: Any = elementwise, **rules: Any) -> Row:
    forward.__name__ = "planted"
    row: Row = kind(**rules)(forward)
    return row


unbatched = partial(op, batch="looped")


def sum_of_squares(xp: Any, x: Any) -> Any:
    return xp.sum(x * x, axis=None)


def doubled(xp: Any, x: Any) -> Any:
    return x * 2


def right() -> Row:
    return plant(sum_of_squares, unbatched, x=lambda g, x: g * 2 * x)


def wrong_sign() -> Row:
    return plant(lambda xp, x: xp.cos(x), x=lambda xp, g, x: g * xp.sin(x))


def wrong_shape() -> Row:
    return plant(lambda xp, x: xp.sum(x, axis=None), unbatched, x=lambda g: g)


def broadcasts_in_secret() -> Row:
    return plant(lambda xp, a, b: xp.mul(a, b), unbatched, a=lambda g, b: g * b, b=lambda g, a: g * a)


def forgets_to_conjugate() -> Row:
    return plant(lambda xp, x: xp.abs(x), x=lambda xp, g, x: g * xp.sgn_complex(x))


def cuts_the_second_derivative() -> Row:
    def constant(xp: Any, x: Any) -> Any:
        return xp.clone(x)

    unbatched(x=NoGrad("a constant"))(constant)
    return plant(sum_of_squares, unbatched, x=lambda xp, g, x: g * 2 * xp.constant(x))


def writes_into_its_argument() -> Row:
    return plant(lambda xp, x: x.__imul__(2), x=lambda g: g * 2)


def writes_into_its_gradient() -> Row:
    return plant(doubled, x=lambda g: g.__imul__(2))


def gives_float64() -> Row:
    return plant(lambda xp, x: x * np.float64(2), x=lambda g: g * 2)


def has_a_float64_gradient() -> Row:
    return plant(doubled, x=lambda g: g * np.full((), 2.0))


def saves_needlessly() -> Row:
    row = plant(lambda xp, x: xp.neg(x), x=lambda g: -g)
    layout = _apply.specialization_of(row, "t")
    layout.saved, layout.wanted_by = ["x"], {"x": ["x"]}
    return row


def view_that_copies() -> Row:
    return plant(lambda xp, x: xp.clone(x), view, x=lambda g: g)


def view_in_secret() -> Row:
    return plant(lambda xp, x: xp.t(x), unbatched, x=lambda xp, g: xp.t(g))


def readers_disagree() -> Row:
    return plant(doubled, x=lambda xp, g: g * 2 if xp is raw else g * 3)


def backend_disagrees() -> Row:
    raw.__dict__["planted"] = lambda x: x * 2.0001
    return plant(doubled, x=lambda g: g * 2)


def backend_counts_on_a_layout() -> Row:
    raw.__dict__["planted"] = lambda x: x.flatten("K").reshape(x.shape)
    return plant(lambda xp, x: xp.planted(x), x=lambda g: g)


def warns_of_infinities() -> Row:
    raw.__dict__["planted"] = lambda x: x - x
    return plant(lambda xp, x: xp.planted(x), x=lambda g: g - g)


def raises_unannounced() -> Row:
    def rule(g: Any) -> Any:
        raise NotImplementedError("the derivative for 'planted' is not implemented.")

    return plant(doubled, x=rule)


def forgets_one_result() -> Row:
    return plant(lambda xp, x: (x * 2, x * 3), unbatched, outputs=("twice", "thrice"), x=lambda g: g[0] * 2)


MATRIX = case(real(2, 3))


@pytest.mark.usefixtures("temporary_rows")
def test_the_checks_let_a_right_row_pass() -> None:
    check_sample(right(), MATRIX)


@pytest.mark.usefixtures("temporary_rows")
@pytest.mark.parametrize(("error", "sample", "words"), [
    (wrong_sign, MATRIX, "derivative for argument 0"),
    (wrong_shape, MATRIX, r"gradient 0 \(raw\) is float64\(\) for float64\(2, 3\)"),
    (broadcasts_in_secret, case(real(2, 3), real(3)), r"gradient 1 \(raw\) is float64\(2, 3\) for float64\(3,\)"),
    (forgets_to_conjugate, case(imaginary(2)), "derivative for argument 0"),
    (cuts_the_second_derivative, MATRIX, "second derivative for argument 0"),
    (writes_into_its_argument, MATRIX, "read-only"),
    (writes_into_its_gradient, MATRIX, "read-only"),
    (gives_float64, MATRIX, "result 0 of float32 is float64"),
    (has_a_float64_gradient, MATRIX, r"gradient 0 \(raw\) is float64\(2, 3\) for float32"),
    (saves_needlessly, MATRIX, "saved although no rule names anything"),
    (view_that_copies, MATRIX, "does not share memory"),
    (view_in_secret, MATRIX, r"result 0 shares memory with argument \[0\]"),
    (readers_disagree, MATRIX,
     "raw reader and graph reader differ|different with a gradient of another layout|derivative for argument"),
    (backend_disagrees, MATRIX, "the backend and the definition differ"),
    (backend_counts_on_a_layout, MATRIX, "different of arguments of another layout"),
    (raises_unannounced, MATRIX, "not implemented"),
    (forgets_one_result, MATRIX, "derivative for argument 0"),
    (right, MATRIX._replace(fails=RuntimeError), "should have raised RuntimeError"),
    (right, MATRIX._replace(second_fails=RuntimeError), "should have raised RuntimeError"),
])
def test_the_checks_find(error: Callable[[], Row], sample: Sample, words: str) -> None:
    row = error()
    with pytest.raises((AssertionError, ValueError, NotImplementedError), match=words):
        check_sample(row, sample)


@pytest.mark.usefixtures("temporary_rows")
def test_the_checks_find_a_row_that_is_not_quiet() -> None:
    with pytest.raises(AssertionError, match="NumPy warns: invalid value encountered in subtract"):
        check_quiet(warns_of_infinities(), MATRIX)


@pytest.mark.usefixtures("temporary_rows")
def test_the_checks_find_a_missing_reason() -> None:
    row = plant(doubled, x=NoGrad(" "))
    with pytest.raises(AssertionError, match="a NoGrad without a reason"):
        check_reasons(row)
