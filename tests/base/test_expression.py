"""Symbolic values: the same operation of the same arguments is the same object, and its parts are read once."""

from __future__ import annotations

import pytest

from whygrad.base.expression import Tracer, Untraceable, text_of, walk


def test_equal_expressions_are_one_object() -> None:
    tracer = Tracer()
    x, y = tracer.make("input", 0), tracer.make("input", 1)
    assert x * y is x * y
    assert x * y is not y * x
    assert tracer.make("sum", x, axis=(0, 1)) is tracer.make("sum", x, axis=(0, 1))
    assert tracer.make("sum", x, axis=(0, 1)) is not tracer.make("sum", x, axis=[0, 1])


@pytest.mark.parametrize(("first", "second"), [(1, 1.0), (1, True), (0.0, -0.0), (0, False), ("1", 1)])
def test_constants_that_compare_equal_are_told_apart(first: object, second: object) -> None:
    tracer = Tracer()
    x = tracer.make("input", 0)
    assert tracer.make("add", x, first) is not tracer.make("add", x, second)
    assert tracer.make("add", x, float("nan")) is tracer.make("add", x, float("nan"))


def test_an_expression_lives_as_long_as_it_is_used() -> None:
    tracer = Tracer()
    x = tracer.make("input", 0)
    kept = x + 1
    assert len(list(tracer._interned)) == 2
    del kept
    assert len(list(tracer._interned)) == 1


def test_shared_parts_are_visited_once() -> None:
    """A tree of 2**200 nodes, which is a graph of 201."""
    tracer = Tracer()
    x = tracer.make("input", 0)
    for _ in range(200):
        x = x * x
    assert len(list(walk(x))) == 201
    assert text_of(x).count(";") == 201


def test_arguments_come_first() -> None:
    tracer = Tracer()
    a, b = tracer.make("input", 0), tracer.make("input", 1)
    assert text_of(a - 2 * b, b) == "input(0); input(1); mul(2, %1); sub(%0, %2); %3 %1"


@pytest.mark.parametrize("ask", [bool, len, iter, int, float, lambda x: x.shape, lambda x: x.dtype, lambda x: 1 if x > 0 else 2])
def test_what_only_a_value_can_tell(ask: object) -> None:
    with pytest.raises(Untraceable):
        ask(Tracer().make("input", 0))  # type: ignore[operator]
